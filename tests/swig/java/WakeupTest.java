// SPDX-License-Identifier: BSD-2-Clause

import static libfp.Libfp.*;

import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import libfp.FpException;
import libfp.LibfpConstants;
import libfp.fp_ring;
import libfp.fp_ring_opts;
import libfp.fp_wakeup;
import libfp.fp_wakeup_opts;
import libfp.fp_wakeup_stats;

/**
 * Wake-ups and waiting rings from Java, as a user of the wrappers meets them. What every
 * call does is the conformance script's business; this is about what Java adds: threads of
 * the JVM that sleep, and objects that are gone.
 */
public final class WakeupTest extends Suite {
    private static final long PRODUCER = LibfpConstants.LIBFP_RING_PRODUCER;
    private static final long CONSUMER = LibfpConstants.LIBFP_RING_CONSUMER;

    private static fp_wakeup newWakeup() {
        return fp_wakeup_create(new fp_wakeup_opts());
    }

    private static fp_ring newRing(long flags) {
        fp_ring_opts opts = new fp_ring_opts();
        opts.setCapacity(4);
        opts.setFlags(flags);
        return fp_ring_create(opts);
    }

    /** Runs the call on a thread of its own; an error is its errno's name. */
    private static FutureTask<Object> start(Callable<Object> call) {
        FutureTask<Object> task = new FutureTask<>(() -> {
            try {
                return call.call();
            } catch (FpException e) {
                return e.errnoName();
            }
        });
        new Thread(task).start();
        return task;
    }

    private static long waiting(fp_wakeup wakeup) {
        fp_wakeup_stats stats = new fp_wakeup_stats();
        fp_wakeup_get_stats(wakeup, stats);
        return stats.getWaiting();
    }

    static void testASleepingThreadIsWoken() throws Exception {
        fp_wakeup wakeup = newWakeup();
        FutureTask<Object> sleeper = start(
                () -> fp_wakeup_wait(wakeup, fp_wakeup_prepare(wakeup), LIBFP_FOREVER));
        while (waiting(wakeup) == 0) {
            Thread.yield();
        }
        equal(1, fp_wakeup_signal(wakeup));
        equal(0, sleeper.get());
        equal(0, fp_wakeup_destroy(wakeup));
    }

    static void testASleepingThreadIsInterrupted() throws Exception {
        fp_wakeup wakeup = newWakeup();
        fp_ring ring = newRing(0);
        fp_ring_set_wakeup(ring, CONSUMER, wakeup);
        FutureTask<Object> sleeper = start(() -> fp_ring_wait_readable(ring, LIBFP_FOREVER));
        while (waiting(wakeup) == 0) {
            Thread.yield();
        }
        fails("EBUSY", () -> fp_ring_set_wakeup(ring, CONSUMER, null));
        fp_ring_interrupt(ring, CONSUMER);
        equal("ECANCELED", sleeper.get());
        fp_ring_destroy(ring);
        fp_wakeup_destroy(wakeup);
    }

    static void testTheCollectorRunsWhileAThreadSleeps() throws Exception {
        fp_ring ring = newRing(LibfpConstants.LIBFP_RING_WAIT);
        FutureTask<Object> sum = start(() -> {
            long total = 0;
            try {
                while (true) {
                    fp_ring_wait_readable(ring, LIBFP_FOREVER);
                    long[] burst = new long[4];
                    int n = fp_ring_dequeue_burst(ring, burst);
                    for (int i = 0; i < n; i++) {
                        total += burst[i];
                    }
                }
            } catch (FpException e) {
                equal("EPIPE", e.errnoName());
            }
            return total;
        });
        for (long i = 1; i <= 2000; i++) {
            equal(1, fp_ring_wait_writable(ring, LIBFP_FOREVER));
            equal(1, fp_ring_enqueue_burst(ring, new long[] {i}));
            if (i % 500 == 0) {
                System.gc();
            }
        }
        fp_ring_close(ring);
        equal(2001000L, sum.get());
        fp_ring_destroy(ring);
    }

    static void testAWakeupThatIsGoneIsRefused() {
        fp_wakeup wakeup = newWakeup();
        fp_ring ring = newRing(0);
        fp_ring_set_wakeup(ring, PRODUCER, wakeup);
        fails("EBUSY", () -> fp_wakeup_destroy(wakeup));
        fp_ring_set_wakeup(ring, PRODUCER, null);
        fp_ring_set_wakeup(ring, CONSUMER, newWakeup());
        equal(0, fp_wakeup_destroy(wakeup));
        fails("EINVAL", () -> fp_ring_set_wakeup(ring, CONSUMER, wakeup));
        equal(0, fp_ring_wait_readable(ring, 0));
        fails("EINVAL", () -> fp_wakeup_prepare(wakeup));
        fails("EINVAL", () -> fp_wakeup_prepare(null));
        fails("EINVAL", () -> fp_wakeup_signal(wakeup));
        fails("EINVAL", () -> fp_wakeup_fd(wakeup));
        equal(0, fp_wakeup_destroy(wakeup));
        fp_ring_destroy(ring);
        fails("EINVAL", () -> fp_ring_wait_readable(ring, 0));
        fails("EINVAL", () -> fp_ring_set_wakeup(ring, CONSUMER, null));
    }

    static void testNumbers() {
        fp_ring ring = newRing(LibfpConstants.LIBFP_RING_WAIT);
        equal(0, fp_ring_wait_readable(ring, 1));
        fails("EINVAL", () -> fp_ring_interrupt(ring, 2));
        fails("EINVAL", () -> fp_ring_interrupt(ring, -1));
        fails("EINVAL", () -> fp_ring_set_wakeup(ring, 1L << 32, null));
        fp_ring_destroy(ring);
        fp_wakeup_opts opts = new fp_wakeup_opts();
        opts.setFlags(1);
        fails("EOPNOTSUPP", () -> fp_wakeup_create(opts));
    }

    public static void main(String[] args) throws Exception {
        run(WakeupTest.class);
    }
}
