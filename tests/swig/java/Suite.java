// SPDX-License-Identifier: BSD-2-Clause

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import libfp.FpException;

/** What the suites of all parts share: their static methods named test... are run. */
abstract class Suite {
    interface Call {
        Object run();
    }

    static void equal(Object expected, Object got) {
        if (!String.valueOf(expected).equals(String.valueOf(got))) {
            throw new AssertionError("expected " + expected + ", got " + got);
        }
    }

    /** The call must fail with that errno. */
    static void fails(String errno, Call call) {
        Object got;
        try {
            got = call.run();
        } catch (FpException e) {
            equal(errno, e.errnoName());
            return;
        }
        throw new AssertionError("expected " + errno + ", got " + got);
    }

    static void run(Class<? extends Suite> suite) throws Exception {
        int failed = 0;
        int passed = 0;
        for (Method test : suite.getDeclaredMethods()) {
            if (!test.getName().startsWith("test")) {
                continue;
            }
            try {
                test.invoke(null);
                passed++;
            } catch (InvocationTargetException e) {
                failed++;
                System.err.println(test.getName());
                e.getCause().printStackTrace();
            }
        }
        System.out.println("java: " + passed + " passed, " + failed + " failed");
        System.exit(failed == 0 && passed > 0 ? 0 : 1);
    }
}
