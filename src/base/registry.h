/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Named objects with references; one registry per part. See registry.c.
 *
 * create:  fpi_registry_reserve(), make the object, fpi_registry_publish();
 *          if making it fails, fpi_registry_cancel().
 * destroy: all other reasons to refuse, then fpi_registry_retire(), then free.
 */
#ifndef FPI_BASE_REGISTRY_H
#define FPI_BASE_REGISTRY_H

#include <stdint.h>

#include <libfp/base.h>

#include "base/atomic.h"
#include "base/lock.h"

struct fpi_registry {
	struct fpi_lock lock;
	fpi_atomic_ptr first; /* struct fpi_name */
};

#define FPI_REGISTRY_INIT             \
	{                             \
		.lock = FPI_LOCK_INIT \
	}

/* Embedded in the object; private to registry.c. All zero: no name. */
struct fpi_name {
	struct fpi_registry *registry; /* NULL: no name */
	void *object;
	fpi_atomic_ptr next; /* struct fpi_name */
	uint64_t references;
	uint32_t published;
	uint32_t generation; /* fork generation of reserve */
	char text[LIBFP_NAME_MAX + 1];
};

/*
 * Takes `name` (copied) for `object`, unseen by lookups yet. NULL is no name:
 * always succeeds, and all calls below then do nothing. `node` is written
 * whole. Returns 0; -EINVAL: empty; -ENAMETOOLONG; -EEXIST: taken, also by an
 * object that is being created; -ENOMEM: no fork handler.
 */
int fpi_registry_reserve(struct fpi_registry *registry, struct fpi_name *node,
			 const char *name, void *object);

/* Lets lookups see the object, which is complete. */
void fpi_registry_publish(struct fpi_name *node);

/* Gives a reserved name back: the create failed. */
void fpi_registry_cancel(struct fpi_name *node);

/*
 * Finds a published object and takes a reference. Returns 0; -EINVAL: name or
 * object is NULL; -ENOENT. *object is untouched on failure.
 */
int fpi_registry_lookup(struct fpi_registry *registry, const char *name, void **object);

/* Gives a reference back. Returns 0; -EINVAL: none is out. */
int fpi_registry_unref(struct fpi_name *node);

/* Whether references are out at this moment. */
int fpi_registry_referenced(struct fpi_name *node);

/*
 * Takes the name away, so that no lookup finds the object any more. Returns 0;
 * -EBUSY: references are out, and nothing has changed. With `force` references
 * do not count: they belong to the parent's threads, and this is a child.
 */
int fpi_registry_retire(struct fpi_name *node, int force);

/* The name, or NULL. Valid as long as the object. */
const char *fpi_registry_name(const struct fpi_name *node);

#endif
