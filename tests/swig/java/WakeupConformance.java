// SPDX-License-Identifier: BSD-2-Clause

import static libfp.Libfp.*;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import libfp.LibfpConstants;
import libfp.fp_wakeup;
import libfp.fp_wakeup_opts;
import libfp.fp_wakeup_stats;

/**
 * Java's driver of the wake-ups' conformance script.
 *
 * <pre>WakeupConformance [--planted] wakeup.json</pre>
 */
public final class WakeupConformance extends Conformance<fp_wakeup> {
    private static final Map<String, List<String>> CALLS = new HashMap<>();

    static {
        for (String call : List.of("destroy", "is_fenced", "signal", "interrupt", "fd",
                "is_readable", "arm", "clear")) {
            CALLS.put(call, List.of());
        }
        CALLS.put("create", List.of("fence"));
        CALLS.put("prepare", List.of("key"));
        CALLS.put("cancel", List.of("key"));
        CALLS.put("wait", List.of("key", "timeout"));
        CALLS.put("stats", List.of("fields"));
    }

    private final Map<String, Long> keys = new HashMap<>();

    private WakeupConformance(String[] sides) {
        super(sides, "wakeup", "w");
    }

    @Override
    Map<String, List<String>> calls() {
        return CALLS;
    }

    // ---- calls ----

    private int create() {
        fp_wakeup_opts opts = new fp_wakeup_opts();
        opts.setFlags(flag("fence") ? LibfpConstants.LIBFP_WAKEUP_FENCE : 0);
        return keep(fp_wakeup_create(opts));
    }

    private int prepare(String key) {
        keys.put(key, fp_wakeup_prepare(handle()));
        return 0;
    }

    private long key() {
        return keys.get(text("key", "k"));
    }

    /** What the kernel says of the descriptor: Java has no poll for one that is not its own. */
    private int isReadable() {
        try {
            String count = Files.lines(Paths.get("/proc/self/fdinfo/" + fp_wakeup_fd(handle())))
                    .filter(line -> line.startsWith("eventfd-count:")).findFirst().get();
            return count.endsWith(" 0") ? 0 : 1;
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private Object stats() throws Wrong {
        fp_wakeup_stats stats = new fp_wakeup_stats();
        int got = fp_wakeup_get_stats(handle(), stats);
        compareFields(stats);
        return got;
    }

    @Override
    Object call(String name) throws Wrong {
        switch (name) {
            case "create": return create();
            case "destroy": return ended(fp_wakeup_destroy(handle()));
            case "is_fenced":
                return fp_wakeup_mode(handle()) == LibfpConstants.LIBFP_WAKEUP_MODE_FENCE ? 1 : 0;
            case "prepare": return prepare(text("key", "k"));
            case "cancel": return fp_wakeup_cancel(handle(), key());
            case "wait": return fp_wakeup_wait(handle(), key(), timeout());
            case "signal": return fp_wakeup_signal(handle());
            case "interrupt": return fp_wakeup_interrupt(handle());
            case "fd": return fp_wakeup_fd(handle());
            case "is_readable": return isReadable();
            case "arm": return fp_wakeup_arm(handle());
            case "clear": return fp_wakeup_clear(handle());
            case "stats": return stats();
            default: throw bad(name + " is no call");
        }
    }

    @Override
    void prepare() {
    }

    @Override
    void check(String name, Object got) {
    }

    public static void main(String[] args) throws Exception {
        main(args, "wakeup", WakeupConformance::new);
    }
}
