// SPDX-License-Identifier: BSD-2-Clause

import static libfp.Libfp.*;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import libfp.FpException;
import libfp.LibfpConstants;
import libfp.fp_mempool;
import libfp.fp_mempool_cache;
import libfp.fp_mempool_leak_list;
import libfp.fp_mempool_opts;
import libfp.fp_mempool_stats;
import libfp.fp_ring;
import libfp.fp_ring_opts;

/**
 * Pools from Java, as a user of the wrappers meets them. What every call does is the
 * conformance script's business; this is about what Java adds.
 */
public final class MempoolTest extends Suite {
    private static fp_mempool newPool(long count, long objectSize, long flags, String name) {
        fp_mempool_opts opts = new fp_mempool_opts();
        opts.setCount(count);
        opts.setObject_size(objectSize);
        opts.setFlags(flags);
        opts.setName(name);
        return fp_mempool_create(opts);
    }

    private static fp_mempool newPool(long count) {
        return newPool(count, 64, 0, null);
    }

    static void testALoopOfSingleCalls() {
        fp_mempool pool = newPool(16);
        for (int i = 0; i < 100000; i++) {
            long object = fp_mempool_get(pool);
            equal(1, fp_mempool_contains(pool, object));
            equal(0, fp_mempool_put(pool, object));
        }
        equal(16L, fp_mempool_avail_count(pool));
        fp_mempool_destroy(pool);
    }

    static void testNoneIsZeroAndErrorsAreExceptions() {
        fp_mempool pool = newPool(1);
        long object = fp_mempool_get(pool);
        equal(0L, fp_mempool_get(pool));
        equal(0L, fp_mempool_object(pool, 1));
        fp_mempool_put(pool, object);
        fp_mempool_destroy(pool);
        fails("EINVAL", () -> fp_mempool_get(pool));
        fails("EINVAL", () -> fp_mempool_get(null));
    }

    static void testTablesOfObjects() {
        fp_mempool pool = newPool(8);
        long[] table = new long[5];
        equal(5, fp_mempool_get_bulk(pool, table));
        equal(5L, Arrays.stream(table).map(o -> fp_mempool_index(pool, o)).distinct().count());
        equal(0, fp_mempool_get_bulk(pool, new long[4]));
        equal(2, fp_mempool_put_bulk(pool, Arrays.copyOf(table, 2)));
        byte[] bytes = new byte[16];
        equal(2, fp_mempool_get_bulk(pool, bytes));
        equal(table[1], ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder()).getLong());
        equal(0, fp_mempool_get_bulk(pool, new long[0]));
        equal(5, fp_mempool_put_bulk(pool, table));
        fails("EINVAL", () -> fp_mempool_get_bulk(pool, new long[9]));
        fails("EINVAL", () -> fp_mempool_get_bulk(pool, new byte[7]));
        fails("EINVAL", () -> fp_mempool_get_bulk(pool, null));
        fails("EINVAL", () -> fp_mempool_put_bulk(pool, "text"));
        fp_mempool_destroy(pool);
    }

    static void testMemoryInPlace() {
        fp_mempool pool = newPool(4, 24, 0, null);
        long object = fp_mempool_get(pool);
        ByteBuffer buffer = fp_mempool.buffer(pool, object);
        equal(true, buffer.isDirect());
        equal(24, buffer.capacity());
        buffer.putLong(16, -2);
        long[] words = new long[3];
        equal(24, fp_mempool.read(pool, object, 0, words));
        equal("[0, 0, -2]", Arrays.toString(words));
        equal(4, fp_mempool.write(pool, object, 8, new int[] {7}));
        equal(7L, buffer.getLong(8));
        fp_mempool_put(pool, object);
        equal(object, fp_mempool_get(pool));
        equal(-2L, fp_mempool.buffer(pool, object).getLong(16));
        fp_mempool_put(pool, object);
        fp_mempool_destroy(pool);
        fails("EINVAL", () -> fp_mempool.buffer(pool, object));
        fails("EINVAL", () -> fp_mempool.read(pool, object, 0, words));
    }

    static void testMemoryHasItsBounds() {
        fp_mempool pool = newPool(2, 24, 0, null);
        long object = fp_mempool_get(pool);
        equal(0, fp_mempool.write(pool, object, 24, new byte[0]));
        fails("EINVAL", () -> fp_mempool.write(pool, object, 17, new long[1]));
        fails("EINVAL", () -> fp_mempool.read(pool, object, 0, new byte[25]));
        fails("EINVAL", () -> fp_mempool.read(pool, object, 0xffffffffL, new byte[1]));
        fails("EINVAL", () -> fp_mempool.write(pool, object, -1, new byte[1]));
        fails("EINVAL", () -> fp_mempool.write(pool, object, 0, null));
        fails("EINVAL", () -> fp_mempool.write(pool, object + 1, 0, new byte[1]));
        fails("EINVAL", () -> fp_mempool.buffer(pool, object + 1));
        fails("EINVAL", () -> fp_mempool.buffer(pool, 0));
        fp_mempool_put(pool, object);
        fp_mempool_destroy(pool);
    }

    static void testWhatIsNoObjectIsRefused() {
        fp_mempool pool = newPool(4);
        fp_mempool_cache cache = fp_mempool_cache_create(pool);
        long object = fp_mempool_get(pool);
        fails("EFAULT", () -> fp_mempool_put(pool, 12345));
        fails("EFAULT", () -> fp_mempool_put(pool, object + 8));
        fails("EFAULT", () -> fp_mempool_put(pool, -1));
        fails("EINVAL", () -> fp_mempool_put(pool, 0));
        fails("EFAULT", () -> fp_mempool_put_bulk(pool, new long[] {object, 1}));
        fails("EFAULT", () -> fp_mempool_put_bulk(pool, new long[] {0}));
        fails("EFAULT", () -> fp_mempool_put_via_cache(pool, cache, 1));
        fails("EFAULT", () -> fp_mempool_put_bulk_via_cache(pool, cache, new long[] {1}));
        fails("EFAULT", () -> fp_mempool_index(pool, 1));
        equal(1L, fp_mempool_in_use_count(pool));
        fp_mempool_put(pool, object);
        fp_mempool_cache_destroy(cache);
        fp_mempool_destroy(pool);
    }

    static void testACheckedPoolCountsMisuse() {
        fp_mempool pool = newPool(4, 64, LibfpConstants.LIBFP_CHECKED, null);
        long object = fp_mempool_get(pool);
        fails("EFAULT", () -> fp_mempool_put(pool, object + 8));
        fp_mempool_put(pool, object);
        fails("EALREADY", () -> fp_mempool_put(pool, object));
        fp_mempool.write(pool, object, 0, new byte[] {1});
        fails("EUCLEAN", () -> fp_mempool_get(pool));
        fp_mempool_stats stats = new fp_mempool_stats();
        fp_mempool_get_stats(pool, stats);
        equal(3L, stats.getMisuses());
        fp_mempool_destroy(pool);
    }

    static void testExplicitCaches() {
        fp_mempool pool = newPool(4);
        fp_mempool_cache cache = fp_mempool_cache_create(pool);
        fp_mempool other = newPool(4);
        long object = fp_mempool_get_via_cache(pool, cache);
        fails("EINVAL", () -> fp_mempool_get_via_cache(other, cache));
        fails("EINVAL", () -> fp_mempool_get_via_cache(pool, null));
        fp_mempool_put_via_cache(pool, cache, object);
        equal(1L, fp_mempool_cache_count(cache));
        fails("EBUSY", () -> fp_mempool_destroy(pool));
        equal(0, fp_mempool_cache_destroy(cache));
        fails("EINVAL", () -> fp_mempool_cache_count(cache));
        fails("EINVAL", () -> fp_mempool_get_via_cache(pool, cache));
        equal(0, fp_mempool_cache_destroy(cache)); // like free(NULL)
        fp_mempool_destroy(pool);
        fp_mempool_destroy(other);
        fails("EINVAL", () -> fp_mempool_cache_create(pool));
    }

    static void testACacheThatIsDroppedGivesItsObjectsBack() {
        fp_mempool pool = newPool(4);
        fp_mempool_cache cache = fp_mempool_cache_create(pool);
        fp_mempool_put_via_cache(pool, cache, fp_mempool_get_via_cache(pool, cache));
        cache.delete();
        fails("EINVAL", () -> fp_mempool_cache_count(cache));
        equal(0, fp_mempool_destroy(pool));
    }

    static void testAPoolThatIsDropped() {
        fp_mempool pool = newPool(4, 64, 0, "java pool");
        fp_mempool found = fp_mempool_lookup("java pool");
        found.delete();
        pool.delete();
        fails("ENOENT", () -> fp_mempool_lookup("java pool"));

        // Objects are out: it stays, and lookup finds it.
        fp_mempool busy = newPool(4, 64, 0, "java pool");
        long object = fp_mempool_get(busy);
        busy.delete();
        fails("EINVAL", () -> fp_mempool_put(busy, object));
        fp_mempool again = fp_mempool_lookup("java pool");
        equal(0, fp_mempool_put(again, object));
        fp_mempool_unref(again);
        fails("EINVAL", () -> fp_mempool_get(again));
    }

    static void testObjectsTravelThroughARing() throws InterruptedException {
        int n = 50000;
        fp_mempool pool = newPool(256, 8, 0, null);
        fp_ring_opts opts = new fp_ring_opts();
        opts.setCapacity(64);
        fp_ring ring = fp_ring_create(opts);
        Thread producer = new Thread(() -> {
            for (long i = 0; i < n;) {
                long object = fp_mempool_get(pool);
                if (object == 0) {
                    Thread.yield();
                    continue;
                }
                fp_mempool.write(pool, object, 0, new long[] {i});
                while (fp_ring_enqueue_u64(ring, object) == 0) {
                    Thread.yield();
                }
                i++;
            }
            fp_ring_close(ring);
        });
        producer.start();
        long[] burst = new long[32];
        long[] value = new long[1];
        long expected = 0;
        try {
            while (true) {
                int got = fp_ring_dequeue_burst(ring, burst);
                for (int i = 0; i < got; i++) {
                    fp_mempool.read(pool, burst[i], 0, value);
                    equal(expected++, value[0]);
                }
                equal(got, fp_mempool_put_bulk(pool, Arrays.copyOf(burst, got)));
                if (got == 0) {
                    Thread.yield();
                }
            }
        } catch (FpException e) {
            equal("EPIPE", e.errnoName());
        }
        producer.join();
        equal(n, expected);
        equal(0, fp_mempool_audit(pool));
        fp_ring_destroy(ring);
        equal(0, fp_mempool_destroy(pool));
    }

    static void testLeaksAreAList() {
        fp_mempool pool = newPool(4, 64, LibfpConstants.LIBFP_CHECKED, null);
        equal(0L, fp_mempool_leaks(pool).count());
        long object = fp_mempool_get(pool);
        fp_mempool_set_tag(pool, object, -1);
        fp_mempool_leak_list list = fp_mempool_leaks(pool);
        equal(1L, list.count());
        equal(object, list.get(0).getObject());
        equal(-1L, list.get(0).getTag());
        equal(true, list.get(0).getThread() > 0 && list.get(0).getAge_ns() >= 0);
        fails("EINVAL", () -> list.get(1));
        fails("EINVAL", () -> list.get(-1));
        fp_mempool_put(pool, object);
        equal(object, list.get(0).getObject()); // as it was
        list.delete();
        fails("EINVAL", () -> list.count());
        fp_mempool_destroy(pool);
        fails("EINVAL", () -> fp_mempool_leaks(pool));
        fails("EOPNOTSUPP", () -> fp_mempool_leaks(newPool(1)));
    }

    static void testThreadsThatEndTakeNothingAlong() throws InterruptedException {
        fp_mempool pool = newPool(64);
        for (int i = 0; i < 8; i++) {
            Thread thread = new Thread(() -> {
                long[] table = new long[8];
                equal(8, fp_mempool_get_bulk(pool, table));
                equal(8, fp_mempool_put_bulk(pool, table));
            });
            thread.start();
            thread.join();
        }
        fp_mempool_stats stats = new fp_mempool_stats();
        fp_mempool_get_stats(pool, stats);
        // The last thread's exit may still be under way.
        equal("64 64", stats.getAvailable() + " "
                + (stats.getIn_depot() + stats.getIn_other_caches()));
        fp_mempool_destroy(pool);
    }

    public static void main(String[] args) throws Exception {
        run(MempoolTest.class);
    }
}
