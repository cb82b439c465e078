/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop of a service core.
 *
 *     core                                        control, stopping service S
 *     if snapshot (acquire) != mine: take it      run = stub (release)
 *     for each binding:                           publish a snapshot without it
 *       cur = its service (release)               membarrier
 *       compiler fence                            cur (acquire) != S: nobody is inside
 *       run (acquire), call it                    ack (acquire) >= its generation: ditto
 *
 * The invariant: a core calls the function of S only between cur = S and the next store
 * to cur, and only if it loaded `run` in between. The membarrier makes a fence of the
 * compiler's one: a core has stored cur = S before it, and control sees that; or it
 * stores it afterwards, and then loads the stub. The stores to cur and ack are releases
 * and come after the call, so who sees another cur, or the ack, sees what the function
 * did and what was counted. cur names the service and not the binding: one look then
 * answers for all its bindings, older ones too, and says which service hangs.
 *
 * A core that takes a new snapshot makes cur NULL first: one whose only service is S
 * would otherwise say S for ever. It takes one at the top of a loop only, so that
 * frequent changes do not starve the last services of the array.
 *
 * Without membarrier `cur` is stored by an exchange, seq_cst as the load of `run`, and
 * control has a seq_cst fence. That costs what a lock would, hence a function of its own;
 * so has the measuring of cycles. Which one runs is chosen where a snapshot is taken.
 *
 * A serialised service that several threads may call has the entry below, which takes the
 * owner word or goes on. As long as one core alone calls it the word is that core's for
 * good (FPI_SERVICE_BIAS) and the function is called directly; see service_map.c.
 *
 * Progress: the loop itself is wait-free; taking a snapshot too, unless somebody deferred
 * work to it. Nothing of it waits for a service that another core is in.
 *
 * Source: the idea is RCU's quiescent state, reported for one reader at a time (McKenney,
 * "Is parallel programming hard", 9.5), with an asymmetric hazard pointer for the one
 * object that matters: Michael, "Hazard pointers" (2004).
 */
#include <errno.h>

#include "base/step.h"
#include "service/service_internal.h"

/* Why a run over one snapshot ended. */
enum {
	TIME_OVER,
	CHANGED,
};

#define CLOCK_LOOPS 16 /* of a lent thread with a time-out, between two looks at it */

int32_t fpi_service_stub(void *unused)
{
	(void)unused;
	return FPI_SERVICE_STUB;
}

int32_t fpi_service_serial(void *binding)
{
	struct fpi_service_binding *b = (struct fpi_service_binding *)binding;
	fp_service *s = FPI_PLAIN_LOAD(&b->service);
	uint64_t me = b->core->number + 1;
	uint64_t owner = FPI_LOAD(&s->owner, FPI_RELAXED);
	int32_t rc;

	/* One's own bias ends here: this core is past the binding that had it. */
	if ((owner && owner != (me | FPI_SERVICE_BIAS)) ||
	    /* Acquire: what the last owner did. Partners: SERVICE_RELEASE_*. */
	    !FPI_CAS(&s->owner, &owner, me, FPI_MO(SERVICE_TAKE, ACQUIRE)))
		return FPI_SERVICE_BUSY;
	FPI_STEP(SERVICE_TAKEN);
	rc = s->run(s->user);
	FPI_STORE(&s->owner, 0, FPI_MO(SERVICE_RELEASE_CORE, RELEASE));
	/* Not to be taken for our own. */
	return rc <= FPI_SERVICE_BUSY ? -EIO : rc;
}

/* What became of a call, and of a pass: bits. */
enum {
	CALLED = 1,
	WORKED = 2,
	BUSY = 4, /* it is being called elsewhere */
};

/* Neither worked nor had nothing to do. */
static FPI_NOINLINE int odd_result(struct fpi_service_binding *b, void *run, int32_t rc)
{
	if (run == (void *)fpi_service_stub)
		return 0;
	if (run == (void *)fpi_service_serial && rc == FPI_SERVICE_BUSY) {
		fpi_count(&b->busy, 1);
		return BUSY;
	}
	fpi_count(&b->errors, 1);
	/* After an error there may be more to do. */
	return CALLED | WORKED;
}

static void count_cycles(struct fpi_service_binding *b, uint64_t cycles, uint64_t scale)
{
	fpi_count(&b->cycles, cycles * scale);
	/* A reset from another thread may be overwritten by a call in progress. */
	if (cycles > FPI_LOAD(&b->longest, FPI_RELAXED))
		FPI_STORE(&b->longest, cycles, FPI_RELAXED);
}

/*
 * Once over all services. Returns bits of all of them. What has worked costs no more than
 * its count: bits are made for the others, of which there are `idlers`.
 */
FPI_INLINE int pass(fp_service_core *c, const struct fpi_service_snapshot *s,
		    int exchange, int measure, uint64_t scale, uint64_t *now)
{
	const uint32_t n = FPI_PLAIN_LOAD(&s->n);
	struct fpi_service_binding *const *end = s->b + n;
	uint32_t idlers = 0;
	int all = 0;

	for (struct fpi_service_binding *const *at = s->b; at != end; at++) {
		struct fpi_service_binding *b = FPI_PLAIN_LOAD(at);
		void *service = FPI_PLAIN_LOAD(&b->service);
		int bits = CALLED | WORKED;
		int32_t rc;
		void *run;

		if (exchange) {
			/* Partner: SERVICE_FENCE. */
			(void)FPI_EXCHANGE(&c->cur, service,
					   FPI_MO(SERVICE_CUR_EXCHANGE, SEQ_CST));
			run = FPI_LOAD(&b->run, FPI_MO(SERVICE_RUN_SC, SEQ_CST));
		} else {
			/* Release: the previous call. Partner: SERVICE_CUR_SEEN. */
			FPI_STORE(&c->cur, service, FPI_MO(SERVICE_CUR, RELEASE));
			/* Partner: the membarrier of whoever stops it. */
			FPI_COMPILER_FENCE();
			/* Acquire: before the function reads. Partner: SERVICE_STUB. */
			run = FPI_LOAD(&b->run, FPI_MO(SERVICE_RUN, ACQUIRE));
		}
		FPI_STEP(SERVICE_RUN);
		rc = ((fp_service_run_fn)run)(FPI_PLAIN_LOAD(&b->arg));
		if (FPI_UNLIKELY(rc < 0)) {
			if (FPI_LIKELY(rc == -EAGAIN)) {
				fpi_count(&b->idle, 1);
				bits = CALLED;
			} else {
				bits = odd_result(b, run, rc);
			}
			idlers += !(bits & WORKED);
			all |= bits & BUSY;
		}
		if (FPI_LIKELY(bits & CALLED))
			fpi_count(&b->calls, 1);
		if (measure) {
			uint64_t before = *now;

			*now = fpi_cycles();
			if (bits & CALLED)
				count_cycles(b, *now - before, scale);
		}
	}
	return idlers == n ? all : all | WORKED;
}

static void count_loop_cycles(fp_service_core *c, int worked, uint64_t cycles)
{
	fpi_count(worked ? &c->busy_cycles : &c->idle_cycles, cycles);
}

/* A pass with cycles: each loop exactly, or one loop in SAMPLE. */
FPI_INLINE int measured_pass(fp_service_core *c, const struct fpi_service_snapshot *s,
			     int exchange, int exact, uint64_t *now)
{
	uint64_t scale = exact ? 1 : FPI_SERVICE_SAMPLE, begin;
	int bits;

	if (!exact && FPI_LOAD(&c->loops, FPI_RELAXED) % FPI_SERVICE_SAMPLE)
		return pass(c, s, exchange, 0, 0, now);
	if (!exact)
		*now = fpi_cycles();
	begin = *now;
	bits = pass(c, s, exchange, 1, scale, now);
	count_loop_cycles(c, bits & WORKED, (*now - begin) * scale);
	return bits;
}

/* As long as the snapshot is s. `timed`: not longer than `until`. */
FPI_INLINE int run_over(fp_service_core *c, const struct fpi_service_snapshot *s,
			uint64_t until, int exchange, int measured, int timed)
{
	const int spins = c->idle_policy == LIBFP_SERVICE_CORE_SPIN;
	const int exact = measured && (s->flags & FPI_SNAPSHOT_EXACT);
	uint64_t now = measured ? fpi_cycles() : 0;
	uint32_t loops = 0;
	int idle = 0;

	/* Acquire: partner SERVICE_PUBLISH. */
	while (FPI_LOAD(&c->snapshot, FPI_MO(SERVICE_PEEK, ACQUIRE)) == (const void *)s) {
		int bits = measured ? measured_pass(c, s, exchange, exact, &now) :
				      pass(c, s, exchange, 0, 0, &now);

		fpi_count(&c->loops, 1);
		if (FPI_LIKELY(bits & WORKED)) {
			if (idle)
				fpi_core_worked(c);
			idle = 0;
		} else {
			fpi_count(&c->idle_loops, 1);
			if (!spins) {
				idle = 1;
				fpi_core_idle(c, s, bits & BUSY, until);
				if (exact)
					now = fpi_cycles();
			}
		}
		/* Idle loops may have slept; the last loop of no time is the first. */
		if (timed && (idle || until == 0 || ++loops % CLOCK_LOOPS == 0) &&
		    fpi_now_ns() >= until)
			return TIME_OVER;
	}
	return CHANGED;
}

typedef int run_over_fn(fp_service_core *c, const struct fpi_service_snapshot *s,
			uint64_t until);

#define LOOP(name, exchange, measured, timed)                                     \
	static int name(fp_service_core *c, const struct fpi_service_snapshot *s, \
			uint64_t until)                                           \
	{                                                                         \
		return run_over(c, s, until, exchange, measured, timed);          \
	}

LOOP(plain, 0, 0, 0)
LOOP(plain_timed, 0, 0, 1)
LOOP(measured, 0, 1, 0)
LOOP(measured_timed, 0, 1, 1)
LOOP(exchanging, 1, 0, 0)
LOOP(exchanging_timed, 1, 0, 1)
LOOP(exchanging_measured, 1, 1, 0)
LOOP(exchanging_measured_timed, 1, 1, 1)

static run_over_fn *const loops[2][2][2] = {
	{ { plain, plain_timed }, { measured, measured_timed } },
	{ { exchanging, exchanging_timed },
	  { exchanging_measured, exchanging_measured_timed } },
};

static const struct fpi_service_snapshot *take_snapshot(fp_service_core *c)
{
	/* Acquire: its bindings. Partner: SERVICE_PUBLISH. */
	const struct fpi_service_snapshot *s =
		FPI_LOAD(&c->snapshot, FPI_MO(SERVICE_SNAPSHOT, ACQUIRE));

	FPI_STEP(SERVICE_SNAPSHOT);
	/* Release: the last call. Partner: SERVICE_CUR_SEEN. */
	FPI_STORE(&c->cur, NULL, FPI_MO(SERVICE_CUR_NULL, RELEASE));
	/* Release: the last look at any older snapshot. Partner: SERVICE_ACK_SEEN. */
	FPI_STORE(&c->ack, FPI_PLAIN_LOAD(&s->gen), FPI_MO(SERVICE_ACK, RELEASE));
	FPI_STEP(SERVICE_ACKED);
	fpi_services_finish(c);
	fpi_core_worked(c);
	return s;
}

int fpi_core_loop(fp_service_core *c, uint64_t until)
{
	const int timed = until != FPI_NO_DEADLINE;

	for (;;) {
		const struct fpi_service_snapshot *s = take_snapshot(c);
		int measured =
			(s->flags & (FPI_SNAPSHOT_SAMPLED | FPI_SNAPSHOT_EXACT)) != 0;

		if (s->flags & FPI_SNAPSHOT_STOP)
			return 0;
		if (loops[c->exchanges][measured][timed](c, s, until) == TIME_OVER)
			return -ETIMEDOUT;
	}
}
