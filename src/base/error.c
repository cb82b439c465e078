/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of status codes. Constants alone: async-signal-safe. libc's
 * strerror() is not, depends on the locale, and does not give the E name.
 */
#include <errno.h>

#include <libfp/base.h>

#include "base/compiler.h"

/* Every code that a function of the library returns, and no other. */
static const struct {
	int code;
	const char *text;
} error_names[] = {
	{ 0, "success" },
	{ EAGAIN, "EAGAIN: try again" },
	{ EALREADY, "EALREADY: already in that state" },
	{ EBUSY, "EBUSY: object in use" },
	{ ECANCELED, "ECANCELED: interrupted, or ended by a callback" },
	{ ECHILD, "ECHILD: object was made before a fork" },
	{ EDEADLK, "EDEADLK: would wait for itself" },
	{ E2BIG, "E2BIG: struct is newer than this library" },
	{ EEXIST, "EEXIST: name is taken" },
	{ EFAULT, "EFAULT: not an object of this pool" },
	{ EINPROGRESS, "EINPROGRESS: begun, not waited for" },
	{ EINVAL, "EINVAL: invalid argument" },
	{ EMFILE, "EMFILE: no file descriptors left" },
	{ ENAMETOOLONG, "ENAMETOOLONG: name too long" },
	{ ENOENT, "ENOENT: no object of that name" },
	{ ENOMEM, "ENOMEM: out of memory" },
	{ ENOSPC, "ENOSPC: no space left" },
	{ ENXIO, "ENXIO: nothing to wait on is bound or made" },
	{ EOPNOTSUPP, "EOPNOTSUPP: not supported by this library or object" },
	{ EPIPE, "EPIPE: closed" },
	{ EPROTO, "EPROTO: no object of a known layout in this memory" },
	{ ESHUTDOWN, "ESHUTDOWN: not started or not ready" },
	{ ESTALE, "ESTALE: no such timer, or not any more" },
	{ ETIMEDOUT, "ETIMEDOUT: timed out" },
	{ EUCLEAN, "EUCLEAN: memory was overwritten" },
};

const char *fp_strerror(int code)
{
	/* Unsigned: -INT_MIN does not exist as an int. */
	unsigned wanted = code < 0 ? 0u - (unsigned)code : (unsigned)code;

	for (unsigned i = 0; i < FPI_ARRAY_LEN(error_names); i++)
		if ((unsigned)error_names[i].code == wanted)
			return error_names[i].text;
	return "unknown error";
}
