// SPDX-License-Identifier: BSD-2-Clause

import static libfp.Libfp.*;

import java.util.concurrent.FutureTask;
import libfp.LibfpConstants;
import libfp.fp_service;
import libfp.fp_timer_wheel;
import libfp.fp_timer_wheel_opts;
import libfp.fp_timer_wheel_stats;
import libfp.fp_wakeup;
import libfp.fp_wakeup_opts;
import scripted.Scripted;

/**
 * Timers from Java, as a user of the wrappers meets them: ids and records in arrays,
 * callbacks of C, threads of the JVM that wait. What every call does is the conformance
 * script's business.
 */
public final class TimerTest extends Suite {
    static {
        System.loadLibrary("Scripted");
    }

    private static fp_timer_wheel newWheel(long flags) {
        fp_timer_wheel_opts opts = new fp_timer_wheel_opts();
        opts.setFlags(flags);
        return fp_timer_wheel_create(opts);
    }

    private static fp_timer_wheel newWheel() {
        return newWheel(LibfpConstants.LIBFP_WHEEL_START_AT);
    }

    static void testManyTimersInArrays() {
        fp_timer_wheel wheel = newWheel();
        int n = 10000;
        long[] ids = new long[n];
        long[] users = new long[n];
        long[] expiries = new long[n];
        for (int i = 0; i < n; i++) {
            users[i] = i;
            expiries[i] = 1 + (i * 7919L) % n;
        }
        equal(n, fp_timer_create_bulk(wheel, 0, users, ids));
        int[] results = new int[n];
        equal(n, fp_timer_arm_bulk(wheel, ids, expiries, results));
        equal(n, fp_timer_arm_bulk(wheel, ids, expiries, results));
        equal(1, results[n - 1]);
        long[] records = new long[4 * 64];
        long last = 0;
        int fired = 0;
        int got;
        while ((got = fp_timer_wheel_poll_burst(wheel, n, records)) > 0) {
            for (int i = 0; i < got; i++, fired++) {
                int user = (int) records[4 * i + 1];
                equal(ids[user], records[4 * i]);
                equal(expiries[user], records[4 * i + 2]);
                equal(last + 1, records[4 * i + 2]);
                last = records[4 * i + 2];
            }
            if (fired % 640 == 0) {
                System.gc();
            }
        }
        equal(n, fired);
        equal(n, fp_timer_destroy_bulk(wheel, ids, null));
        fp_timer_wheel_destroy(wheel);
    }

    static void testTablesThatDoNotFit() {
        fp_timer_wheel wheel = newWheel();
        long[] ids = new long[2];
        equal(2, fp_timer_create_bulk(wheel, 0, null, ids));
        fails("EINVAL", () -> fp_timer_arm_bulk(wheel, ids, new long[1], null));
        fails("EINVAL", () -> fp_timer_arm_bulk(wheel, ids, new long[2], new int[1]));
        fails("EINVAL", () -> fp_timer_arm_bulk(wheel, ids, null, null));
        fails("EINVAL", () -> fp_timer_arm_bulk(wheel, null, ids, null));
        fails("EINVAL", () -> fp_timer_arm_bulk(wheel, ids, "text", null));
        fails("EINVAL", () -> fp_timer_touch_bulk(wheel, ids, new long[3], null));
        fails("EINVAL", () -> fp_timer_cancel_bulk(wheel, new byte[9], null));
        fails("EINVAL", () -> fp_timer_cancel_bulk(wheel, ids, new int[3]));
        fails("EINVAL", () -> fp_timer_create_bulk(wheel, 0, new long[1], ids));
        fails("EINVAL", () -> fp_timer_create_bulk(wheel, 0, null, null));
        fails("EINVAL", () -> fp_timer_wheel_poll_burst(wheel, 0, new long[3]));
        fails("EINVAL", () -> fp_timer_wheel_poll_burst(wheel, 0, null));
        fails("EINVAL", () -> fp_timer_wheel_poll_burst(wheel, 0, new long[4 << 20 | 4]));
        equal(0L, fp_timer_wheel_count(wheel));
        equal(0, fp_timer_cancel_bulk(wheel, ids, null));
        equal(0, fp_timer_cancel_bulk(wheel, new int[4], null)); // as many bytes as two ids
        equal(2, fp_timer_destroy_bulk(wheel, ids, new int[2]));
        fp_timer_wheel_destroy(wheel);
        fails("EINVAL", () -> fp_timer_cancel_bulk(wheel, ids, null));
    }

    static void testACallbackOfC() {
        fp_timer_wheel wheel = newWheel();
        Scripted.scripted_fired();
        long id = fp_timer_create(wheel, Scripted.scripted_timer(), 77);
        fp_timer_arm(wheel, id, 5);
        equal(1L, fp_timer_wheel_poll(wheel, 9, LibfpConstants.LIBFP_WHEEL_NO_LIMIT));
        equal(1, Scripted.scripted_fired());
        equal(id, Scripted.scripted_record(0, 0));
        equal(77L, Scripted.scripted_record(0, 1));
        fp_timer_wheel_destroy(wheel);
    }

    static void testAWaitingThreadHearsOfAnEarlierTimer() throws Exception {
        fp_timer_wheel wheel = newWheel(LibfpConstants.LIBFP_WHEEL_WAIT);
        long id = fp_timer_create(wheel, 0, 0);
        fp_timer_arm(wheel, id, fp_timer_wheel_now(wheel) + 3600000000L);
        FutureTask<Long> waiter = new FutureTask<>(() -> {
            long fired = 0;
            while (fired == 0) {
                fp_timer_wheel_wait(wheel, LIBFP_FOREVER);
                fired = fp_timer_wheel_poll(wheel, fp_timer_wheel_now(wheel),
                        LibfpConstants.LIBFP_WHEEL_NO_LIMIT);
            }
            return fired;
        });
        new Thread(waiter).start();
        fp_timer_arm(wheel, id, fp_timer_wheel_now(wheel));
        equal(1L, waiter.get());
        fp_timer_wheel_destroy(wheel);
    }

    static void testTheServiceIsTheWheels() {
        fp_timer_wheel wheel = newWheel(0);
        fp_service service = fp_timer_wheel_service(wheel);
        fp_wakeup wakeup = fp_service_wakeup(service);
        fails("EOPNOTSUPP", () -> fp_service_destroy(service, 0, 0));
        equal(0, fp_service_start(service));
        fp_timer_arm(wheel, fp_timer_create(wheel, 0, 0), 1);
        fp_service_run_once(service);
        equal(0L, fp_timer_wheel_count(wheel));
        equal(0, fp_wakeup_signal(wakeup));
        equal(0, fp_timer_wheel_destroy(wheel));
        fails("EINVAL", () -> fp_service_start(service));
        fails("EINVAL", () -> fp_wakeup_signal(wakeup));
        fails("EINVAL", () -> fp_service_wakeup(service));
        fails("EINVAL", () -> fp_timer_wheel_service(wheel));
    }

    static void testAWheelThatIsGoneIsRefused() {
        fp_timer_wheel wheel = newWheel();
        fp_wakeup wakeup = fp_wakeup_create(new fp_wakeup_opts());
        long id = fp_timer_create(wheel, 0, 0);
        fp_timer_wheel_set_wakeup(wheel, wakeup);
        fails("EBUSY", () -> fp_wakeup_destroy(wakeup));
        fp_timer_wheel_set_wakeup(wheel, null);
        fp_wakeup_destroy(wakeup);
        fails("EINVAL", () -> fp_timer_wheel_set_wakeup(wheel, wakeup));
        equal(0, fp_timer_wheel_destroy(wheel));
        equal(0, fp_timer_wheel_destroy(wheel));
        fails("EINVAL", () -> fp_timer_arm(wheel, id, 1));
        fails("EINVAL", () -> fp_timer_create(wheel, 0, 0));
        fails("EINVAL", () -> fp_timer_wheel_now(wheel));
        fails("EINVAL", () -> fp_timer_wheel_get_stats(wheel, new fp_timer_wheel_stats()));
        fails("EINVAL", () -> fp_timer_cancel(null, id));
    }

    public static void main(String[] args) throws Exception {
        run(TimerTest.class);
    }
}
