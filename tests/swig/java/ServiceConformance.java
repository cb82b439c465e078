// SPDX-License-Identifier: BSD-2-Clause

import static libfp.Libfp.*;

import com.google.gson.JsonElement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import libfp.LibfpConstants;
import libfp.fp_service;
import libfp.fp_service_core;
import libfp.fp_service_core_opts;
import libfp.fp_service_core_stats;
import libfp.fp_service_map_stats;
import libfp.fp_service_opts;
import libfp.fp_service_stats;
import libfp.fp_wakeup;
import scripted.Scripted;

/**
 * Java's driver of the services' conformance script. The functions are those of scripted.i.
 *
 * <pre>ServiceConformance [--planted] service.json</pre>
 */
public final class ServiceConformance extends Conformance<fp_service> {
    private static final Map<String, List<String>> CALLS = new HashMap<>();
    private static final Map<String, Integer> ERRORS = Map.of("-EAGAIN", -11, "-EIO", -5,
            "-EPIPE", -32);

    static {
        System.loadLibrary("Scripted");
        for (String call : List.of("unref", "name", "calls", "released", "start", "is_runnable",
                "is_active", "reset_stats")) {
            CALLS.put(call, List.of());
        }
        for (String call : List.of("map", "is_mapped", "wakeup_signal", "wakeup_prepare",
                "wakeup_destroy", "core_destroy", "core_unref", "core_name", "core_start",
                "core_reset_stats")) {
            CALLS.put(call, List.of("core"));
        }
        CALLS.put("create", List.of("returns", "name", "wakeable", "not_ready", "cycles"));
        CALLS.put("destroy", List.of("force", "timeout"));
        CALLS.put("lookup", List.of("name"));
        CALLS.put("await_calls", List.of("n"));
        CALLS.put("set_ready", List.of("ready", "timeout"));
        CALLS.put("stop", List.of("timeout"));
        CALLS.put("unmap", List.of("core", "timeout"));
        CALLS.put("run_once", List.of("result"));
        CALLS.put("set_deadline", List.of("deadline"));
        CALLS.put("stats", List.of("fields"));
        CALLS.put("map_stats", List.of("core", "fields"));
        CALLS.put("core_create", List.of("core", "name", "idle"));
        CALLS.put("core_lookup", List.of("core", "name"));
        CALLS.put("core_stop", List.of("core", "timeout"));
        CALLS.put("core_run", List.of("core", "timeout"));
        CALLS.put("core_stats", List.of("core", "fields"));
    }

    private final Map<String, fp_service_core> cores = new HashMap<>();
    private final Map<String, Integer> functions = new HashMap<>(); // their numbers

    private ServiceConformance(String[] sides) {
        super(sides, "service", "s");
    }

    @Override
    Map<String, List<String>> calls() {
        return CALLS;
    }

    // ---- what steps name ----

    private fp_service_core core() {
        fp_service_core core = cores.get(text("core", "c"));
        if (core == null) {
            throw bad("no core " + text("core", "c"));
        }
        return core;
    }

    private int function() {
        return functions.get(text("service", "s"));
    }

    private static int status(JsonElement value) {
        return value.getAsJsonPrimitive().isNumber() ? value.getAsInt()
                : ERRORS.get(value.getAsString());
    }

    private long bit(String key, long bit) {
        return flag(key) ? bit : 0;
    }

    // ---- calls ----

    private int create() {
        int function = Scripted.scripted_new();
        functions.put(text("service", "s"), function);
        if (step.has("returns")) {
            for (JsonElement value : step.getAsJsonArray("returns")) {
                Scripted.scripted_returns(function, status(value));
            }
        }
        fp_service_opts opts = new fp_service_opts();
        opts.setName(text("name", null));
        opts.setRun(Scripted.scripted_run());
        opts.setReleased(Scripted.scripted_released());
        opts.setUser(Scripted.scripted_user(function));
        opts.setFlags((sides[0].equals("mt") ? LibfpConstants.LIBFP_SERVICE_MT_SAFE : 0)
                | bit("wakeable", LibfpConstants.LIBFP_SERVICE_WAKEABLE)
                | bit("not_ready", LibfpConstants.LIBFP_SERVICE_NOT_READY));
        opts.setCycles(List.of("off", "sampled", "exact").indexOf(text("cycles", "off")));
        return keep(fp_service_create(opts));
    }

    private int coreCreate() {
        fp_service_core_opts opts = new fp_service_core_opts();
        opts.setName(text("name", null));
        opts.setIdle(List.of("sleep", "yield", "spin").indexOf(text("idle", "sleep")));
        return keepCore(fp_service_core_create(opts));
    }

    private int keepCore(fp_service_core core) {
        cores.put(text("core", "c"), core);
        return 0;
    }

    private int coreEnded(int status) {
        cores.remove(text("core", "c"));
        return status;
    }

    private int awaitCalls() {
        while (Scripted.scripted_calls(function()) < number("n", 1)) {
            Thread.yield();
        }
        return 0;
    }

    private int runOnce() throws Wrong {
        int result = fp_service_run_once(handle());
        if (step.has("result")) {
            compare(status(step.get("result")), result);
        }
        return 0;
    }

    private int wakeup(String name) {
        fp_wakeup wakeup = step.has("core") ? fp_service_core_wakeup(core())
                : fp_service_wakeup(handle());
        switch (name) {
            case "wakeup_signal": return fp_wakeup_signal(wakeup);
            case "wakeup_destroy": return fp_wakeup_destroy(wakeup);
            default: return (int) fp_wakeup_prepare(wakeup);
        }
    }

    private int stats(String name) throws Wrong {
        if (name.equals("stats")) {
            fp_service_stats stats = new fp_service_stats();
            fp_service_get_stats(handle(), stats);
            compareFields(stats);
        } else if (name.equals("map_stats")) {
            fp_service_map_stats stats = new fp_service_map_stats();
            fp_service_get_map_stats(handle(), core(), stats);
            compareFields(stats);
        } else {
            fp_service_core_stats stats = new fp_service_core_stats();
            fp_service_core_get_stats(core(), stats);
            compareFields(stats);
        }
        return 0;
    }

    private Object callCore(String name) {
        switch (name) {
            case "core_create": return coreCreate();
            case "core_destroy": return coreEnded(fp_service_core_destroy(core()));
            case "core_lookup": return keepCore(fp_service_core_lookup(text("name", null)));
            case "core_unref": return coreEnded(fp_service_core_unref(core()));
            case "core_name": return fp_service_core_name(core());
            case "core_start": return fp_service_core_start(core());
            case "core_stop": return fp_service_core_stop(core(), timeout());
            case "core_run": return fp_service_core_run(core(), timeout());
            case "core_reset_stats": return fp_service_core_reset_stats(core());
            default: throw bad(name + " is no call");
        }
    }

    @Override
    Object call(String name) throws Wrong {
        switch (name) {
            case "create": return create();
            case "destroy":
                return ended(fp_service_destroy(handle(),
                        bit("force", LibfpConstants.LIBFP_SERVICE_FORCE), timeout()));
            case "lookup": return keep(fp_service_lookup(text("name", null)));
            case "unref": return ended(fp_service_unref(handle()));
            case "name": return fp_service_name(handle());
            case "calls": return Scripted.scripted_calls(function());
            case "released": return Scripted.scripted_releases(function());
            case "await_calls": return awaitCalls();
            case "set_ready": return fp_service_set_ready(handle(), number("ready", 0), timeout());
            case "start": return fp_service_start(handle());
            case "stop": return fp_service_stop(handle(), timeout());
            case "is_runnable": return fp_service_is_runnable(handle());
            case "is_active": return fp_service_is_active(handle());
            case "map": return fp_service_map(handle(), core());
            case "unmap": return fp_service_unmap(handle(), core(), timeout());
            case "is_mapped": return fp_service_is_mapped(handle(), core());
            case "run_once": return runOnce();
            case "set_deadline":
                return fp_service_set_deadline(handle(), number("deadline", 0));
            case "reset_stats": return fp_service_reset_stats(handle());
            case "stats": case "map_stats": case "core_stats": return stats(name);
            case "wakeup_signal": case "wakeup_prepare": case "wakeup_destroy":
                return wakeup(name);
            default: return callCore(name);
        }
    }

    @Override
    void prepare() {
    }

    @Override
    void check(String name, Object got) {
    }

    @Override
    boolean isAllEnded() {
        return super.isAllEnded() && cores.isEmpty();
    }

    public static void main(String[] args) throws Exception {
        main(args, "service", ServiceConformance::new);
    }
}
