/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stages.h - a worker thread in C that is given two rings by its caller,
 * whatever language that is: it takes 64-bit elements from one, transforms
 * them, and puts them into the other.
 *
 *     in --[ stage ]--> out
 *
 * The caller makes both rings, fills `in` and drains `out`; fp_ring_close(in)
 * ends the stream: the worker carries what is left, closes `out` and ends.
 *
 * A binding passes the address of its ring (Python: ring.handle; Go:
 * ring.Handle()) and keeps the ring alive until stage_stop() has returned.
 */
#ifndef STAGES_H
#define STAGES_H

#include <stdint.h>

#include <libfp.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stage stage;

/* What happens to an element x. */
#define STAGE_COPY 0   /* x */
#define STAGE_INVERT 1 /* all bits of x inverted */
#define STAGE_MIX 2    /* x as a well-mixed hash: splitmix64's last step */

/*
 * Starts a worker between two rings of 8-byte elements. It is the only
 * consumer of `in` and the only producer of `out`: these sides must be
 * LIBFP_ST.
 *
 * kind:     STAGE_...
 * out_stage: receives the stage; untouched on failure.
 * Returns:  0; -EINVAL: a NULL, the same ring twice, an element size that is
 *           not 8, or an MT side towards the worker; -EOPNOTSUPP: unknown kind;
 *           -ENOMEM, -EAGAIN: no memory, no thread.
 */
int stage_start(fp_ring *in, fp_ring *out, uint32_t kind, stage **out_stage);

/*
 * Ends a stage: waits for its thread and frees it. A stage whose `in` is not
 * closed and drained stops where it is; what it has not carried is still in
 * `in`, and `out` stays open. Nothing is lost.
 *
 * carried:  receives the number of elements; may be NULL.
 * Returns:  0, also for NULL; -EPIPE: `out` was closed by somebody else, what
 *           could not be carried is still in `in`; or another error of a ring.
 */
int stage_stop(stage *s, uint64_t *carried);

#ifdef __cplusplus
}
#endif

#endif
