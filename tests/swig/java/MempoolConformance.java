// SPDX-License-Identifier: BSD-2-Clause

import static libfp.Libfp.*;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import libfp.LibfpConstants;
import libfp.fp_mempool;
import libfp.fp_mempool_cache;
import libfp.fp_mempool_leak;
import libfp.fp_mempool_leak_list;
import libfp.fp_mempool_opts;
import libfp.fp_mempool_stats;

/**
 * Java's driver of the pools' conformance script.
 *
 * <pre>MempoolConformance [--planted] mempool.json</pre>
 */
public final class MempoolConformance extends Conformance<fp_mempool> {
    private static final Map<String, List<String>> CALLS = new HashMap<>();

    static {
        for (String call : List.of("destroy", "unref", "flush", "reclaim", "stride",
                "object_size", "capacity", "cache_size", "memory", "avail_count",
                "in_use_count", "is_full", "is_empty", "audit", "name")) {
            CALLS.put(call, List.of());
        }
        for (String call : List.of("cache_create", "cache_destroy", "cache_flush",
                "cache_count")) {
            CALLS.put(call, List.of("cache"));
        }
        CALLS.put("create", List.of("count", "object_size", "align", "cache_size",
                "max_threads", "name", "stats", "checked", "no_cache"));
        CALLS.put("lookup", List.of("name"));
        CALLS.put("get", List.of("cache", "out"));
        CALLS.put("put", List.of("cache", "object", "offset"));
        CALLS.put("get_bulk", List.of("cache", "n", "out"));
        CALLS.put("put_bulk", List.of("cache", "objects"));
        CALLS.put("index", List.of("object", "offset"));
        CALLS.put("object", List.of("index", "out"));
        CALLS.put("contains", List.of("object", "offset"));
        CALLS.put("set_tag", List.of("object", "tag"));
        CALLS.put("leaks", List.of("tags"));
        CALLS.put("write", List.of("object", "bytes"));
        CALLS.put("holds", List.of("object", "bytes"));
        CALLS.put("stats", List.of("fields"));
    }

    private final Map<String, fp_mempool_cache> caches = new HashMap<>();
    private final Map<String, Long> objects = new HashMap<>(); // their addresses
    private final Set<Long> held = new HashSet<>();            // got and not put
    private long[] out; // what came out of the step

    private MempoolConformance(String[] sides) {
        super(sides, "pool", "p");
    }

    @Override
    Map<String, List<String>> calls() {
        return CALLS;
    }

    // ---- what steps name ----

    private fp_mempool_cache cache() {
        fp_mempool_cache cache = caches.get(text("cache", "c"));
        if (cache == null) {
            throw bad("no cache " + text("cache", "c"));
        }
        return cache;
    }

    /** The address of an object; null: a name that is new. */
    private Long object(JsonElement value) {
        if (value.getAsJsonPrimitive().isNumber()) {
            return fp_mempool_base(handle()) + value.getAsLong() * fp_mempool_stride(handle());
        }
        return objects.get(value.getAsString());
    }

    private long object() {
        return object(step.get("object")) + number("offset", 0);
    }

    private List<JsonElement> list(String key) {
        List<JsonElement> values = new ArrayList<>();
        if (step.get(key).isJsonArray()) {
            step.getAsJsonArray(key).forEach(values::add);
            return values;
        }
        JsonObject range = step.getAsJsonObject(key);
        long to = range.get("to").getAsLong();
        JsonArray names = new JsonArray();
        for (long i = range.get("from").getAsLong();; i += to < i ? -1 : 1) {
            names.add(range.get("name").getAsString() + i);
            if (i == to) {
                break;
            }
        }
        names.forEach(values::add);
        return values;
    }

    // ---- calls ----

    private int create() {
        fp_mempool_opts opts = new fp_mempool_opts();
        opts.setCount(number("count", 0));
        opts.setObject_size(number("object_size", 64));
        opts.setAlign(number("align", 0));
        opts.setCache_size(number("cache_size", 0));
        opts.setMax_threads(number("max_threads", 0));
        opts.setName(text("name", null));
        opts.setFlags((flag("stats") ? LibfpConstants.LIBFP_STATS : 0)
                | (flag("checked") ? LibfpConstants.LIBFP_CHECKED : 0)
                | (flag("no_cache") ? LibfpConstants.LIBFP_POOL_NO_CACHE : 0)
                | (sides[0].equals("st") ? LibfpConstants.LIBFP_POOL_ST_GET : 0)
                | (sides[1].equals("st") ? LibfpConstants.LIBFP_POOL_ST_PUT : 0));
        return keep(fp_mempool_create(opts));
    }

    private Object caches(String name) {
        switch (name) {
            case "cache_create":
                caches.put(text("cache", "c"), fp_mempool_cache_create(handle()));
                return 0;
            case "cache_destroy":
                int status = fp_mempool_cache_destroy(cache());
                caches.remove(text("cache", "c"));
                return status;
            case "cache_flush": return fp_mempool_cache_flush(cache());
            default: return fp_mempool_cache_count(cache());
        }
    }

    private int cameOut(long[] room, int n) throws Wrong {
        out = Arrays.copyOf(room, n);
        for (long object : out) {
            if (!held.add(object)) {
                throw new Wrong("an object that is not out", "one that is");
            }
        }
        return n;
    }

    private int get() throws Wrong {
        long object = step.has("cache") ? fp_mempool_get_via_cache(handle(), cache())
                : fp_mempool_get(handle());
        return cameOut(new long[] {object}, object == 0 ? 0 : 1);
    }

    private int getBulk() throws Wrong {
        long[] room = new long[(int) number("n", 0)];
        return cameOut(room, step.has("cache")
                ? fp_mempool_get_bulk_via_cache(handle(), cache(), room)
                : fp_mempool_get_bulk(handle(), room));
    }

    private int put() {
        int status = step.has("cache") ? fp_mempool_put_via_cache(handle(), cache(), object())
                : fp_mempool_put(handle(), object());
        held.remove(object());
        return status;
    }

    private int putBulk() {
        long[] table = list("objects").stream().mapToLong(this::object).toArray();
        int n = step.has("cache") ? fp_mempool_put_bulk_via_cache(handle(), cache(), table)
                : fp_mempool_put_bulk(handle(), table);
        for (long object : table) {
            held.remove(object);
        }
        return n;
    }

    private int objectAt() throws Wrong {
        long index = number("index", 0);
        long object = fp_mempool_object(handle(), index);
        if (object == 0) {
            return 0;
        }
        compare(fp_mempool_base(handle()) + index * fp_mempool_stride(handle()), object);
        out = new long[] {object};
        return 1;
    }

    /** Writes the memory of an object; the buffer and the copy must show it. */
    private int write() throws Wrong {
        byte[] bytes = element(step.get("bytes"), (int) fp_mempool_object_size(handle()));
        fp_mempool.write(handle(), object(), 0, bytes);
        compare(1, holds());
        return 0;
    }

    private int holds() throws Wrong {
        byte[] bytes = element(step.get("bytes"), (int) fp_mempool_object_size(handle()));
        byte[] copy = new byte[bytes.length];
        byte[] seen = new byte[bytes.length];
        fp_mempool.read(handle(), object(), 0, copy);
        fp_mempool.buffer(handle(), object()).get(seen);
        compare(Arrays.toString(copy), Arrays.toString(seen));
        return Arrays.equals(bytes, copy) ? 1 : 0;
    }

    private Object leaks() throws Wrong {
        fp_mempool_leak_list list = fp_mempool_leaks(handle());
        Map<Long, Long> tags = new HashMap<>();
        for (long i = 0; i < list.count(); i++) {
            fp_mempool_leak leak = list.get(i);
            compare(fp_mempool_object(handle(), leak.getIndex()), leak.getObject());
            tags.put(leak.getObject(), leak.getTag());
        }
        if (step.has("tags")) {
            Map<Long, Long> wanted = new HashMap<>();
            for (Map.Entry<String, JsonElement> tag : step.getAsJsonObject("tags").entrySet()) {
                wanted.put(objects.get(tag.getKey()), tag.getValue().getAsLong());
            }
            compare(wanted, tags);
        }
        return list.count();
    }

    private Object stats() throws Wrong {
        fp_mempool_stats stats = new fp_mempool_stats();
        int got = fp_mempool_get_stats(handle(), stats);
        compareFields(stats);
        return got;
    }

    @Override
    Object call(String name) throws Wrong {
        switch (name) {
            case "create": return create();
            case "destroy": return ended(fp_mempool_destroy(handle()));
            case "unref": return ended(fp_mempool_unref(handle()));
            case "lookup": return keep(fp_mempool_lookup(text("name", null)));
            case "get": return get();
            case "put": return put();
            case "get_bulk": return getBulk();
            case "put_bulk": return putBulk();
            case "flush": return fp_mempool_flush(handle());
            case "reclaim": return fp_mempool_reclaim(handle());
            case "index": return fp_mempool_index(handle(), object());
            case "object": return objectAt();
            case "contains": return fp_mempool_contains(handle(), object());
            case "set_tag": return fp_mempool_set_tag(handle(), object(), number("tag", 0));
            case "write": return write();
            case "holds": return holds();
            case "stride": return fp_mempool_stride(handle());
            case "object_size": return fp_mempool_object_size(handle());
            case "capacity": return fp_mempool_capacity(handle());
            case "cache_size": return fp_mempool_cache_size(handle());
            case "memory": return fp_mempool_memory(handle());
            case "avail_count": return fp_mempool_avail_count(handle());
            case "in_use_count": return fp_mempool_in_use_count(handle());
            case "is_full": return fp_mempool_is_full(handle());
            case "is_empty": return fp_mempool_is_empty(handle());
            case "audit": return fp_mempool_audit(handle());
            case "name": return fp_mempool_name(handle());
            case "stats": return stats();
            case "leaks": return leaks();
            default: return caches(name);
        }
    }

    @Override
    void prepare() {
        out = new long[0];
    }

    @Override
    void check(String name, Object got) throws Wrong {
        if (!step.has("out")) {
            compare("no objects", out.length == 0 ? "no objects" : "some objects");
            return;
        }
        List<JsonElement> names = list("out");
        compare(names.size() + " objects", out.length + " objects");
        for (int i = 0; i < out.length; i++) {
            if (names.get(i).isJsonNull()) {
                continue;
            }
            Long wanted = object(names.get(i));
            if (wanted == null) {
                objects.put(names.get(i).getAsString(), out[i]);
            } else {
                compare("object " + wanted, "object " + out[i]);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        main(args, "mempool", MempoolConformance::new);
    }
}
