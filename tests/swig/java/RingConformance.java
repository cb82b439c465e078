// SPDX-License-Identifier: BSD-2-Clause

import static libfp.Libfp.*;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import libfp.LibfpConstants;
import libfp.fp_ring;
import libfp.fp_ring_opts;
import libfp.fp_ring_span;
import libfp.fp_ring_stats;
import libfp.fp_wakeup;
import libfp.fp_wakeup_opts;

/**
 * Java's driver of the rings' conformance script.
 *
 * <pre>RingConformance [--planted] ring.json</pre>
 */
public final class RingConformance extends Conformance<fp_ring> {
    private static final Map<String, List<String>> CALLS = new HashMap<>();

    static {
        for (String call : List.of("destroy", "unref", "close", "reset", "count", "free_count",
                "capacity", "elem_size", "is_full", "is_empty", "is_closed", "producer_sync",
                "consumer_sync", "name")) {
            CALLS.put(call, List.of());
        }
        CALLS.put("create", List.of("capacity", "elem_size", "name", "stats", "checked",
                "wait", "producer", "consumer"));
        CALLS.put("lookup", List.of("name"));
        CALLS.put("enqueue", List.of("elem"));
        CALLS.put("enqueue_u64", List.of("elem"));
        CALLS.put("enqueue_burst", List.of("elems", "after"));
        CALLS.put("enqueue_bulk", List.of("elems", "after"));
        CALLS.put("dequeue", List.of("out"));
        CALLS.put("dequeue_u64", List.of("out"));
        CALLS.put("dequeue_burst", List.of("n", "out", "after"));
        CALLS.put("dequeue_bulk", List.of("n", "out", "after"));
        CALLS.put("peek", List.of("n", "out"));
        for (String call : List.of("wakeup_create", "wakeup_arm", "wakeup_clear",
                "wakeup_destroy")) {
            CALLS.put(call, List.of("wakeup"));
        }
        CALLS.put("wait_readable", List.of("timeout"));
        CALLS.put("wait_writable", List.of("timeout"));
        CALLS.put("dequeue_wait", List.of("n", "timeout", "out"));
        CALLS.put("enqueue_wait", List.of("elems", "timeout"));
        CALLS.put("interrupt", List.of("side"));
        CALLS.put("set_wakeup", List.of("side", "wakeup"));
        CALLS.put("reserve_enqueue", List.of("span", "n", "bulk", "pieces"));
        CALLS.put("commit_enqueue", List.of("span", "k", "elems"));
        CALLS.put("reserve_dequeue", List.of("span", "n", "bulk", "pieces", "out"));
        CALLS.put("commit_dequeue", List.of("span", "k"));
        CALLS.put("stats", List.of("fields"));
    }

    private final Map<String, fp_ring_span> spans = new HashMap<>();
    private final Map<String, fp_wakeup> wakeups = new HashMap<>();
    private int elemSize;
    private byte[] out; // what came out of the step

    private RingConformance(String[] sides) {
        super(sides, "ring", "r");
    }

    @Override
    Map<String, List<String>> calls() {
        return CALLS;
    }

    private byte[] elements(String key) {
        JsonElement list = step.get(key);
        JsonArray values = new JsonArray();
        if (list.isJsonArray()) {
            values = list.getAsJsonArray();
        } else {
            JsonObject range = list.getAsJsonObject();
            for (long i = 0; i < range.get("n").getAsLong(); i++) {
                values.add(range.get("first").getAsLong() + i);
            }
        }
        ByteBuffer bytes = ByteBuffer.allocate(values.size() * elemSize);
        for (JsonElement value : values) {
            bytes.put(element(value, elemSize));
        }
        return bytes.array();
    }

    // ---- calls ----

    private fp_ring_span span() {
        return spans.computeIfAbsent(text("span", "s"), name -> new fp_ring_span());
    }

    private long side(String key, int which) {
        String side = text(key, sides[which]);
        return side.equals("st") ? LibfpConstants.LIBFP_ST : LibfpConstants.LIBFP_MT;
    }

    private int create() {
        fp_ring_opts opts = new fp_ring_opts();
        opts.setCapacity(number("capacity", 0));
        opts.setElem_size(number("elem_size", 8));
        opts.setName(text("name", null));
        opts.setProducer(side("producer", 0));
        opts.setConsumer(side("consumer", 1));
        opts.setFlags((flag("stats") ? LibfpConstants.LIBFP_STATS : 0)
                | (flag("checked") ? LibfpConstants.LIBFP_CHECKED : 0)
                | (flag("wait") ? LibfpConstants.LIBFP_RING_WAIT : 0));
        return keep(fp_ring_create(opts));
    }

    private int dequeueU64() {
        long[] word = new long[1];
        int got = fp_ring_dequeue_u64(handle(), word);
        out = ByteBuffer.allocate(8).order(ByteOrder.nativeOrder()).putLong(word[0]).array();
        return got;
    }

    private Object room() {
        out = new byte[(int) number("n", 1) * elemSize];
        return out;
    }

    private int reserve(boolean enqueue) {
        long flags = flag("bulk") ? LibfpConstants.LIBFP_RING_BULK : 0;
        long n = number("n", 0);
        if (enqueue) {
            return fp_ring_reserve_enqueue(handle(), n, flags, span());
        }
        int got = fp_ring_reserve_dequeue(handle(), n, flags, span());
        out = new byte[got * elemSize];
        span().read(0, out);
        return got;
    }

    private int commitEnqueue() {
        byte[] table = elements("elems");
        int room = (int) (span().getN1() + span().getN2()) * elemSize;
        if (room > 0) {
            span().write(0, Arrays.copyOf(table, Math.min(table.length, room)));
        }
        return fp_ring_commit_enqueue(handle(), span(), number("k", 0));
    }

    private int dequeueWait() {
        Object room = room();
        int ready = fp_ring_wait_readable(handle(), timeout());
        return ready == 0 ? 0 : fp_ring_dequeue_burst(handle(), room);
    }

    private int enqueueWait() {
        int ready = fp_ring_wait_writable(handle(), timeout());
        return ready == 0 ? 0 : fp_ring_enqueue_burst(handle(), elements("elems"));
    }

    /** The side of a ring; a number may be none. */
    private long side() {
        switch (text("side", "")) {
            case "producer": return LibfpConstants.LIBFP_RING_PRODUCER;
            case "consumer": return LibfpConstants.LIBFP_RING_CONSUMER;
            default: return number("side", 0);
        }
    }

    private fp_wakeup wakeup() {
        JsonElement name = step.get("wakeup");
        if (name != null && name.isJsonNull()) {
            return null;
        }
        fp_wakeup wakeup = wakeups.get(text("wakeup", "w"));
        if (wakeup == null) {
            throw bad("no wake-up " + text("wakeup", "w"));
        }
        return wakeup;
    }

    private int wakeups(String name) {
        switch (name) {
            case "wakeup_create":
                wakeups.put(text("wakeup", "w"), fp_wakeup_create(new fp_wakeup_opts()));
                return 0;
            case "wakeup_arm":
                fp_wakeup_fd(wakeup());
                return fp_wakeup_arm(wakeup());
            case "wakeup_clear": return fp_wakeup_clear(wakeup());
            default: return fp_wakeup_destroy(wakeup());
        }
    }

    private Object stats() throws Wrong {
        fp_ring_stats stats = new fp_ring_stats();
        int got = fp_ring_get_stats(handle(), stats);
        compareFields(stats);
        return got;
    }

    @Override
    Object call(String name) throws Wrong {
        switch (name) {
            case "create": return create();
            case "destroy": return ended(fp_ring_destroy(handle()));
            case "unref": return ended(fp_ring_unref(handle()));
            case "lookup": return keep(fp_ring_lookup(text("name", null)));
            case "close": return fp_ring_close(handle());
            case "reset": return fp_ring_reset(handle());
            case "enqueue":
                return fp_ring_enqueue(handle(), element(step.get("elem"), elemSize));
            case "enqueue_u64":
                return fp_ring_enqueue_u64(handle(), ByteBuffer.wrap(element(step.get("elem"), 8))
                        .order(ByteOrder.nativeOrder()).getLong());
            case "enqueue_burst": return fp_ring_enqueue_burst(handle(), elements("elems"));
            case "enqueue_bulk": return fp_ring_enqueue_bulk(handle(), elements("elems"));
            case "dequeue": return fp_ring_dequeue(handle(), room());
            case "dequeue_u64": return dequeueU64();
            case "dequeue_burst": return fp_ring_dequeue_burst(handle(), room());
            case "dequeue_bulk": return fp_ring_dequeue_bulk(handle(), room());
            case "peek": return fp_ring_peek(handle(), room());
            case "reserve_enqueue": return reserve(true);
            case "reserve_dequeue": return reserve(false);
            case "commit_enqueue": return commitEnqueue();
            case "commit_dequeue":
                return fp_ring_commit_dequeue(handle(), span(), number("k", 0));
            case "count": return fp_ring_count(handle());
            case "free_count": return fp_ring_free_count(handle());
            case "capacity": return fp_ring_capacity(handle());
            case "elem_size": return fp_ring_elem_size(handle());
            case "producer_sync": return fp_ring_producer_sync(handle());
            case "consumer_sync": return fp_ring_consumer_sync(handle());
            case "is_full": return fp_ring_is_full(handle());
            case "is_empty": return fp_ring_is_empty(handle());
            case "is_closed": return fp_ring_is_closed(handle());
            case "name": return fp_ring_name(handle());
            case "stats": return stats();
            case "wait_readable": return fp_ring_wait_readable(handle(), timeout());
            case "wait_writable": return fp_ring_wait_writable(handle(), timeout());
            case "dequeue_wait": return dequeueWait();
            case "enqueue_wait": return enqueueWait();
            case "interrupt": return fp_ring_interrupt(handle(), side());
            case "set_wakeup": return fp_ring_set_wakeup(handle(), side(), wakeup());
            default: return wakeups(name);
        }
    }

    @Override
    void prepare() {
        fp_ring ring = handleOrNull();
        elemSize = ring == null ? 8 : (int) fp_ring_elem_size(ring);
        out = new byte[0];
    }

    @Override
    void check(String name, Object got) throws Wrong {
        if (step.has("out")) {
            int n = got instanceof Integer ? (int) got * elemSize : 0;
            compare(Arrays.toString(elements("out")), Arrays.toString(Arrays.copyOf(out, n)));
        }
        if (step.has("after")) {
            boolean enqueued = name.startsWith("enqueue");
            compare(number("after", 0) + " after",
                    (enqueued ? fp_ring_free_count(handle()) : fp_ring_count(handle())) + " after");
        }
        if (step.has("pieces")) {
            compare(step.get("pieces").toString(),
                    "[" + span().getN1() + "," + span().getN2() + "]");
        }
    }

    public static void main(String[] args) throws Exception {
        main(args, "ring", RingConformance::new);
    }
}
