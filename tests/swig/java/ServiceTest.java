// SPDX-License-Identifier: BSD-2-Clause

import static libfp.Libfp.*;

import libfp.LibfpConstants;
import libfp.fp_ring;
import libfp.fp_ring_opts;
import libfp.fp_service;
import libfp.fp_service_core;
import libfp.fp_service_core_opts;
import libfp.fp_service_opts;
import libfp.fp_wakeup;
import scripted.Scripted;

/**
 * Services from Java, as a user of the wrappers meets them: functions of C, controlled from
 * here. What every call does is the conformance script's business.
 */
public final class ServiceTest extends Suite {
    private static int function;

    static {
        System.loadLibrary("Scripted");
    }

    private static fp_service newService(String name) {
        function = Scripted.scripted_new();
        fp_service_opts opts = new fp_service_opts();
        opts.setName(name);
        opts.setRun(Scripted.scripted_run());
        opts.setReleased(Scripted.scripted_released());
        opts.setUser(Scripted.scripted_user(function));
        return fp_service_create(opts);
    }

    private static fp_service_core newCore() {
        return fp_service_core_create(new fp_service_core_opts());
    }

    static void testACoreOfItsOwn() {
        fp_service service = newService(null);
        fp_service_core core = newCore();
        fp_service_map(service, core);
        fp_service_start(service);
        fp_service_core_start(core);
        while (Scripted.scripted_calls(function) < 10) {
            Thread.yield();
        }
        fails("EBUSY", () -> fp_service_core_destroy(core));
        fails("EBUSY", () -> fp_service_destroy(service, 0, LIBFP_FOREVER));
        fp_service_core_stop(core, LIBFP_FOREVER);
        fp_service_core_destroy(core);
        fp_service_destroy(service, 0, LIBFP_FOREVER);
        equal(1L, Scripted.scripted_releases(function));
    }

    static void testAWakeupLivesAsLongAsItsService() {
        fp_service service = newService(null);
        fp_wakeup wakeup = fp_service_wakeup(service);
        equal(0, fp_wakeup_signal(wakeup));
        fp_ring_opts opts = new fp_ring_opts();
        opts.setCapacity(4);
        fp_ring ring = fp_ring_create(opts);
        fp_ring_set_wakeup(ring, LibfpConstants.LIBFP_RING_CONSUMER, wakeup);
        fails("EOPNOTSUPP", () -> fp_ring_wait_readable(ring, 0));
        fails("EBUSY", () -> fp_service_destroy(service, 0, 0));
        fails("EOPNOTSUPP", () -> fp_wakeup_destroy(wakeup));
        fp_ring_destroy(ring);
        fp_service_destroy(service, 0, 0);
        fails("EINVAL", () -> fp_wakeup_signal(wakeup));
        fails("EINVAL", () -> fp_service_wakeup(service));
        fails("EINVAL", () -> fp_service_core_wakeup(null));
    }

    static void testCpus() {
        fp_service_core core = newCore();
        equal(0, fp_service_core_set_cpus(core, new int[] {0, 1}));
        equal(0, fp_service_core_set_cpus(core, new int[0]));
        fails("EINVAL", () -> fp_service_core_set_cpus(core, new int[] {1024}));
        fails("EINVAL", () -> fp_service_core_set_cpus(core, new byte[3]));
        fails("EINVAL", () -> fp_service_core_set_cpus(core, null));
        fp_service_core_destroy(core);
    }

    static void testWithoutAFunction() {
        fails("EINVAL", () -> fp_service_create(new fp_service_opts()));
    }

    static void testOneThatIsGoneIsRefused() {
        fp_service service = newService("java service");
        fp_service_core core = newCore();
        fp_service found = fp_service_lookup("java service");
        fails("EBUSY", () -> fp_service_destroy(service, 0, 0));
        fp_service_unref(found);
        fails("EINVAL", () -> fp_service_start(found));
        fp_service_destroy(service, 0, 0);
        fails("EINVAL", () -> fp_service_map(service, core));
        fails("EINVAL", () -> fp_service_run_once(service));
        fails("ENOENT", () -> fp_service_lookup("java service"));
        fp_service_core_destroy(core);
        fails("EINVAL", () -> fp_service_core_run(core, 0));
    }

    public static void main(String[] args) throws Exception {
        run(ServiceTest.class);
    }
}
