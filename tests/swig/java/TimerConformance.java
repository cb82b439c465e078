// SPDX-License-Identifier: BSD-2-Clause

import static libfp.Libfp.*;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import libfp.FpException;
import libfp.LibfpConstants;
import libfp.fp_service;
import libfp.fp_service_core;
import libfp.fp_service_core_opts;
import libfp.fp_timer_wheel;
import libfp.fp_timer_wheel_opts;
import libfp.fp_timer_wheel_stats;
import libfp.fp_wakeup;
import libfp.fp_wakeup_opts;
import scripted.Scripted;

/**
 * Java's driver of the timers' conformance script. The callback is that of scripted.i; a
 * record is four longs.
 *
 * <pre>TimerConformance [--planted] timer.json</pre>
 */
public final class TimerConformance extends Conformance<fp_timer_wheel> {
    private static final int WORDS = 4; // of a record
    private static final int RECORDS = 16;
    private static final Map<String, List<String>> CALLS = new HashMap<>();

    static {
        System.loadLibrary("Scripted");
        for (String call : List.of("destroy", "unref", "name", "now", "tick_ns", "count",
                "cancel_all", "reset_stats", "interrupt", "await_fired", "service",
                "service_start")) {
            CALLS.put(call, List.of());
        }
        for (String call : List.of("timer_destroy", "cancel", "is_pending")) {
            CALLS.put(call, List.of("timer"));
        }
        for (String call : List.of("set_wakeup", "wakeup_create", "wakeup_destroy",
                "wakeup_arm", "wakeup_clear")) {
            CALLS.put(call, List.of("wakeup"));
        }
        for (String call : List.of("service_map", "core_create", "core_run", "core_destroy")) {
            CALLS.put(call, List.of("core"));
        }
        CALLS.put("create", List.of("name", "start", "tick_ns", "capacity", "max_timers",
                "wait", "stats"));
        CALLS.put("lookup", List.of("name"));
        CALLS.put("ticks_from_ns", List.of("ns"));
        CALLS.put("poll", List.of("now", "max", "called"));
        CALLS.put("poll_burst", List.of("now", "n", "out", "called"));
        CALLS.put("next_expiry", List.of("not_after"));
        CALLS.put("stats", List.of("fields"));
        CALLS.put("wait", List.of("timeout"));
        CALLS.put("timer_create", List.of("timer", "user", "callback"));
        CALLS.put("arm", List.of("timer", "expiry"));
        CALLS.put("arm_periodic", List.of("timer", "first", "period", "policy"));
        CALLS.put("touch", List.of("timer", "expiry"));
        CALLS.put("cancel_sync", List.of("timer", "timeout"));
        CALLS.put("remaining", List.of("timer", "now", "ticks"));
        CALLS.put("timer_create_bulk", List.of("timers", "users", "callback"));
        CALLS.put("timer_destroy_bulk", List.of("timers", "results"));
        CALLS.put("cancel_bulk", List.of("timers", "results"));
        CALLS.put("arm_bulk", List.of("timers", "expiries", "results"));
        CALLS.put("touch_bulk", List.of("timers", "expiries", "results"));
    }

    private final Map<String, Long> timers = new HashMap<>();
    private final Map<String, fp_wakeup> wakeups = new HashMap<>();
    private final Map<String, fp_service> services = new HashMap<>(); // by their wheels
    private final Map<String, fp_service_core> cores = new HashMap<>();

    private TimerConformance(String[] sides) {
        super(sides, "wheel", "w");
    }

    @Override
    Map<String, List<String>> calls() {
        return CALLS;
    }

    // ---- values of the script ----

    private long id(JsonElement name) {
        if (name.isJsonNull()) {
            return 0;
        }
        if (!timers.containsKey(name.getAsString())) {
            throw bad("no timer " + name);
        }
        return timers.get(name.getAsString());
    }

    private String timerName() {
        return text("timer", "t");
    }

    private long timer() {
        return step.has("timer") ? id(step.get("timer")) : timers.get("t");
    }

    /** Ticks: a number, hexadecimal, or the clock's and more. */
    private long ticks(JsonElement value) {
        if (value.getAsJsonPrimitive().isNumber()) {
            return value.getAsLong();
        }
        String digits = value.getAsString();
        if (digits.startsWith("0x")) {
            return Long.parseUnsignedLong(digits.substring(2), 16);
        }
        if (!digits.matches("now(\\+[0-9]+)?")) {
            throw bad(digits + " is no tick");
        }
        return fp_timer_wheel_now(handle())
                + (digits.equals("now") ? 0 : Long.parseLong(digits.substring(4)));
    }

    private long ticks(String key) {
        return ticks(step.get(key));
    }

    private long[] longs(String key) {
        JsonArray list = step.getAsJsonArray(key);
        long[] table = new long[list.size()];
        for (int i = 0; i < table.length; i++) {
            table[i] = ticks(list.get(i));
        }
        return table;
    }

    private long[] ids() {
        JsonArray names = step.getAsJsonArray("timers");
        long[] ids = new long[names.size()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = id(names.get(i));
        }
        return ids;
    }

    private long policy() {
        JsonElement policy = step.get("policy");
        return policy.getAsJsonPrimitive().isNumber() ? policy.getAsLong()
                : List.of("skip", "coalesce", "catch_up").indexOf(policy.getAsString());
    }

    private long callback() {
        return flag("callback") ? Scripted.scripted_timer() : 0;
    }

    // ---- records ----

    private void compareNumber(JsonObject wanted, String key, long got) throws Wrong {
        if (wanted.has(key)) {
            compare(key + " " + Long.toUnsignedString(ticks(wanted.get(key))),
                    key + " " + Long.toUnsignedString(got));
        }
    }

    /** Compares the records that the step has under this key with what came. */
    private void compareRecords(String key, long[] records, int n) throws Wrong {
        if (!step.has(key)) {
            return;
        }
        JsonArray list = step.getAsJsonArray(key);
        compare(key + " " + list.size(), key + " " + n);
        for (int i = 0; i < n; i++) {
            JsonObject wanted = new JsonObject();
            if (list.get(i).isJsonObject()) {
                wanted = list.get(i).getAsJsonObject();
            } else {
                wanted.add("timer", list.get(i));
            }
            int at = i * WORDS;
            compare("timer " + id(wanted.get("timer")), "timer " + records[at]);
            compareNumber(wanted, "user", records[at + 1]);
            compareNumber(wanted, "expiry", records[at + 2]);
            compareNumber(wanted, "overruns", records[at + 3] & 0xffffffffL);
            if (wanted.has("periodic")) {
                compare(wanted.get("periodic").getAsBoolean(),
                        records[at + 3] >>> 32 == LibfpConstants.LIBFP_TIMER_IS_PERIODIC);
            }
        }
    }

    private void compareCalled() throws Wrong {
        int n = Scripted.scripted_fired();
        long[] records = new long[n * WORDS];
        for (int i = 0; i < records.length; i++) {
            records[i] = Scripted.scripted_record(i / WORDS, i % WORDS);
        }
        compareRecords("called", records, n);
    }

    // ---- wheels ----

    private int create() {
        fp_timer_wheel_opts opts = new fp_timer_wheel_opts();
        opts.setName(text("name", null));
        opts.setTick_ns(step.has("tick_ns") ? ticks("tick_ns") : 0);
        opts.setCapacity(number("capacity", 0));
        opts.setMax_timers(number("max_timers", 0));
        long flags = (flag("wait") ? LibfpConstants.LIBFP_WHEEL_WAIT : 0)
                | (flag("stats") ? LibfpConstants.LIBFP_STATS : 0);
        if (!text("start", "0").equals("now")) {
            flags |= LibfpConstants.LIBFP_WHEEL_START_AT;
            opts.setStart_tick(number("start", 0));
        }
        opts.setFlags(flags);
        return keep(fp_timer_wheel_create(opts));
    }

    private long poll() throws Wrong {
        long got = fp_timer_wheel_poll(handle(), ticks("now"),
                number("max", LibfpConstants.LIBFP_WHEEL_NO_LIMIT));
        compareCalled();
        return got;
    }

    private int pollBurst() throws Wrong {
        long[] records = new long[(int) number("n", RECORDS) * WORDS];
        int got = fp_timer_wheel_poll_burst(handle(), ticks("now"), records);
        compareRecords("out", records, got);
        compareCalled();
        return got;
    }

    private long awaitFired() {
        long got;
        do {
            fp_timer_wheel_wait(handle(), LIBFP_FOREVER);
            got = fp_timer_wheel_poll(handle(), fp_timer_wheel_now(handle()),
                    LibfpConstants.LIBFP_WHEEL_NO_LIMIT);
        } while (got == 0);
        return got;
    }

    private int nextExpiry() throws Wrong {
        long[] tick = new long[1];
        int got = fp_timer_wheel_next_expiry(handle(), tick);
        if (step.has("not_after")) {
            compare(true, Long.compareUnsigned(tick[0], ticks("not_after")) <= 0);
        }
        return got;
    }

    private int stats() throws Wrong {
        fp_timer_wheel_stats stats = new fp_timer_wheel_stats();
        int got = fp_timer_wheel_get_stats(handle(), stats);
        compareFields(stats);
        return got;
    }

    // ---- wake-ups, services and cores that it meets ----

    private int setWakeup() {
        boolean none = step.get("wakeup").isJsonNull();
        return fp_timer_wheel_set_wakeup(handle(), none ? null : wakeups.get(text("wakeup", "w")));
    }

    private int wakeup(String name) {
        String which = text("wakeup", "w");
        switch (name) {
            case "wakeup_create":
                wakeups.put(which, fp_wakeup_create(new fp_wakeup_opts()));
                return 0;
            case "wakeup_destroy":
                int got = fp_wakeup_destroy(wakeups.get(which));
                wakeups.remove(which);
                return got;
            case "wakeup_arm":
                fp_wakeup_fd(wakeups.get(which));
                return fp_wakeup_arm(wakeups.get(which));
            default: return fp_wakeup_clear(wakeups.get(which));
        }
    }

    private int service(String name) {
        String wheel = text("wheel", "w");
        switch (name) {
            case "service":
                services.put(wheel, fp_timer_wheel_service(handle()));
                return 0;
            case "service_map":
                return fp_service_map(services.get(wheel), cores.get(text("core", "c")));
            default: return fp_service_start(services.get(wheel));
        }
    }

    private int core(String name) {
        String which = text("core", "c");
        switch (name) {
            case "core_create":
                cores.put(which, fp_service_core_create(new fp_service_core_opts()));
                return 0;
            case "core_destroy":
                int got = fp_service_core_destroy(cores.get(which));
                cores.remove(which);
                return got;
            default: return fp_service_core_run(cores.get(which), 0);
        }
    }

    // ---- timers ----

    private int timerCreate() {
        timers.put(timerName(), fp_timer_create(handle(), callback(), number("user", 0)));
        return 0;
    }

    private int timerCreateBulk() {
        JsonArray names = step.getAsJsonArray("timers");
        long[] ids = new long[names.size()];
        int got = fp_timer_create_bulk(handle(), callback(),
                step.has("users") ? longs("users") : null, ids);
        for (int i = 0; i < got; i++) {
            timers.put(names.get(i).getAsString(), ids[i]);
        }
        return got;
    }

    private int remaining() throws Wrong {
        long[] left = new long[1];
        int got = fp_timer_remaining(handle(), timer(), ticks("now"), left);
        compareNumber(step, "ticks", left[0]);
        return got;
    }

    private int bulk(String name) throws Wrong {
        long[] ids = ids();
        int[] results = step.has("results") ? new int[ids.length] : null;
        int got;
        switch (name) {
            case "arm_bulk":
                got = fp_timer_arm_bulk(handle(), ids, longs("expiries"), results);
                break;
            case "touch_bulk":
                got = fp_timer_touch_bulk(handle(), ids, longs("expiries"), results);
                break;
            case "cancel_bulk": got = fp_timer_cancel_bulk(handle(), ids, results); break;
            default: got = fp_timer_destroy_bulk(handle(), ids, results);
        }
        for (int i = 0; results != null && i < results.length; i++) {
            compare(step.getAsJsonArray("results").get(i).getAsString(), results[i] < 0
                    ? "-" + new FpException(-results[i], fp_strerror(results[i])).errnoName()
                    : String.valueOf(results[i]));
        }
        return got;
    }

    private Object callTimer(String name) throws Wrong {
        switch (name) {
            case "timer_create": return timerCreate();
            case "timer_destroy": return fp_timer_destroy(handle(), timer());
            case "arm": return fp_timer_arm(handle(), timer(), ticks("expiry"));
            case "arm_periodic":
                return fp_timer_arm_periodic(handle(), timer(), ticks("first"), ticks("period"),
                        policy());
            case "touch": return fp_timer_touch(handle(), timer(), ticks("expiry"));
            case "cancel": return fp_timer_cancel(handle(), timer());
            case "cancel_sync": return fp_timer_cancel_sync(handle(), timer(), timeout());
            case "is_pending": return fp_timer_is_pending(handle(), timer());
            case "remaining": return remaining();
            case "timer_create_bulk": return timerCreateBulk();
            case "timer_destroy_bulk": case "arm_bulk": case "touch_bulk": case "cancel_bulk":
                return bulk(name);
            default: throw bad(name + " is no call");
        }
    }

    @Override
    Object call(String name) throws Wrong {
        switch (name) {
            case "create": return create();
            case "destroy": return ended(fp_timer_wheel_destroy(handle()));
            case "lookup": return keep(fp_timer_wheel_lookup(text("name", null)));
            case "unref": return ended(fp_timer_wheel_unref(handle()));
            case "name": return fp_timer_wheel_name(handle());
            case "now": return fp_timer_wheel_now(handle());
            case "ticks_from_ns": return fp_timer_wheel_ticks_from_ns(handle(), ticks("ns"));
            case "tick_ns": return fp_timer_wheel_tick_ns(handle());
            case "poll": return poll();
            case "poll_burst": return pollBurst();
            case "await_fired": return awaitFired();
            case "next_expiry": return nextExpiry();
            case "count": return fp_timer_wheel_count(handle());
            case "cancel_all": return fp_timer_wheel_cancel_all(handle());
            case "stats": return stats();
            case "reset_stats": return fp_timer_wheel_reset_stats(handle());
            case "wait": return fp_timer_wheel_wait(handle(), timeout());
            case "interrupt": return fp_timer_wheel_interrupt(handle());
            case "set_wakeup": return setWakeup();
            case "service": case "service_map": case "service_start": return service(name);
            default:
                return name.startsWith("wakeup_") ? wakeup(name)
                        : name.startsWith("core_") ? core(name) : callTimer(name);
        }
    }

    @Override
    void prepare() {
        Scripted.scripted_fired();
    }

    @Override
    void check(String name, Object got) {
    }

    @Override
    boolean isAllEnded() {
        return super.isAllEnded() && wakeups.isEmpty() && cores.isEmpty();
    }

    public static void main(String[] args) throws Exception {
        main(args, "timer", TimerConformance::new);
    }
}
