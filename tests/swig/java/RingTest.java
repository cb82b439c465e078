// SPDX-License-Identifier: BSD-2-Clause

import static libfp.Libfp.*;

import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import libfp.FpException;
import libfp.Libfp;
import libfp.LibfpConstants;
import libfp.fp_ring;
import libfp.fp_ring_opts;
import libfp.fp_ring_span;
import libfp.fp_ring_stats;

/**
 * Rings from Java, as a user of the wrappers meets them. What every call does is the
 * conformance script's business; this is about what Java adds.
 *
 * <pre>RingTest exports.txt</pre>
 */
public final class RingTest extends Suite {
    private static String exports;

    private static fp_ring newRing(long capacity, long elemSize, String name) {
        fp_ring_opts opts = new fp_ring_opts();
        opts.setCapacity(capacity);
        opts.setElem_size(elemSize);
        opts.setName(name);
        return fp_ring_create(opts);
    }

    static void testALoopOfSingleCalls() {
        fp_ring ring = newRing(64, 8, null);
        long[] word = new long[1];
        long sum = 0;
        for (long i = 0; i < 100000; i++) {
            equal(1, fp_ring_enqueue_u64(ring, -i));
            equal(1, fp_ring_dequeue_u64(ring, word));
            sum += word[0];
        }
        equal(-4999950000L, sum);
        equal(0, fp_ring_dequeue_u64(ring, word));
        fp_ring_destroy(ring);
    }

    static void testBurstsOfArraysOfEachType() {
        fp_ring ring = newRing(5, 8, null);
        equal(5, fp_ring_enqueue_burst(ring, new long[] {1, 2, 3, 4, 5, 6}));
        byte[] bytes = new byte[16];
        equal(2, fp_ring_dequeue_burst(ring, bytes));
        equal("[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]", Arrays.toString(bytes));
        long[] rest = new long[4];
        equal(3, fp_ring_dequeue_burst(ring, rest));
        equal("[3, 4, 5, 0]", Arrays.toString(rest));
        equal(0, fp_ring_dequeue_burst(ring, new long[0]));
        fp_ring_destroy(ring);

        ring = newRing(5, 4, null);
        equal(3, fp_ring_enqueue_bulk(ring, new int[] {-1, 0, 1}));
        int[] ints = new int[3];
        equal(3, fp_ring_dequeue_bulk(ring, ints));
        equal("[-1, 0, 1]", Arrays.toString(ints));
        fp_ring_destroy(ring);
    }

    static void testOneElementOfAnySize() {
        fp_ring ring = newRing(2, 12, null);
        equal(1, fp_ring_enqueue(ring, new int[] {7, 8, 9}));
        byte[] element = new byte[12];
        equal(1, fp_ring_dequeue(ring, element));
        equal("[7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0]", Arrays.toString(element));
        fails("EINVAL", () -> fp_ring_enqueue(ring, new byte[11]));
        fails("EINVAL", () -> fp_ring_dequeue(ring, new byte[13]));
        fails("EINVAL", () -> fp_ring_enqueue_burst(ring, new byte[13]));
        fails("EINVAL", () -> fp_ring_enqueue_u64(ring, 1));
        equal(0, fp_ring_count(ring));
        fp_ring_destroy(ring);
    }

    static void testWhatIsNoArrayIsRefused() {
        fp_ring ring = newRing(4, 8, null);
        fails("EINVAL", () -> fp_ring_enqueue_burst(ring, null));
        fails("EINVAL", () -> fp_ring_enqueue_burst(ring, "text"));
        fails("EINVAL", () -> fp_ring_dequeue_burst(ring, new double[4]));
        fails("EINVAL", () -> fp_ring_dequeue_burst(ring, new Object[4]));
        fails("EINVAL", () -> fp_ring_peek(ring, null));
        fails("EINVAL", () -> fp_ring_dequeue_u64(ring, null));
        fp_ring_destroy(ring);
    }

    static void testErrorsCarryErrnoAndText() {
        try {
            newRing(0, 8, null);
            throw new AssertionError("no exception");
        } catch (FpException e) {
            equal(22, e.errno);
            equal("EINVAL", e.errnoName());
            equal(fp_strerror(-22), e.getMessage());
        }
        fp_ring_opts opts = new fp_ring_opts();
        fails("EINVAL", () -> fp_ring_create(null));
        fails("EINVAL", () -> {
            opts.setCapacity(1L << 32);
            return "a capacity that does not fit";
        });
        fails("EINVAL", () -> {
            opts.setFlags(-1);
            return "negative flags";
        });
        opts.setCapacity(1);
        opts.setFlags(1L << 31);
        fails("EOPNOTSUPP", () -> fp_ring_create(opts));
        fails("ENAMETOOLONG", () -> newRing(1, 8, "n".repeat(64)));
    }

    static void testCloseEndsAPipelineOfTwoThreads() throws InterruptedException {
        int n = 200000;
        fp_ring ring = newRing(256, 8, null);
        Thread producer = new Thread(() -> {
            long[] burst = new long[32];
            for (long next = 0; next < n;) {
                for (int i = 0; i < burst.length; i++) {
                    burst[i] = next + i;
                }
                int taken = fp_ring_enqueue_bulk(ring, burst);
                next += taken;
                if (taken == 0) {
                    Thread.yield();
                }
            }
            fp_ring_close(ring);
        });
        producer.start();
        long[] burst = new long[100];
        long expected = 0;
        try {
            while (true) {
                int got = fp_ring_dequeue_burst(ring, burst);
                for (int i = 0; i < got; i++) {
                    equal(expected++, burst[i]);
                }
                if (got == 0) {
                    Thread.yield();
                }
            }
        } catch (FpException e) {
            equal("EPIPE", e.errnoName());
        }
        producer.join();
        equal(n, expected);
        equal(1, fp_ring_is_closed(ring));
        fails("EPIPE", () -> fp_ring_enqueue_u64(ring, 1));
        fp_ring_destroy(ring);
    }

    static void testLookupHoldsAReference() {
        fp_ring ring = newRing(4, 8, "java");
        equal("java", fp_ring_name(ring));
        fails("EEXIST", () -> newRing(4, 8, "java"));
        fp_ring found = fp_ring_lookup("java");
        fp_ring_enqueue_u64(found, 5);
        equal(1, fp_ring_count(ring));
        fails("EBUSY", () -> fp_ring_destroy(ring));
        equal(1, fp_ring_count(ring));
        fp_ring_unref(found);
        fails("EINVAL", () -> fp_ring_unref(found));
        fails("EINVAL", () -> fp_ring_count(found));
        fp_ring_destroy(ring);
        fails("ENOENT", () -> fp_ring_lookup("java"));
        fails("EINVAL", () -> fp_ring_lookup(null));
    }

    static void testUseAfterDestroyIsAnError() {
        fp_ring ring = newRing(4, 8, null);
        fp_ring_destroy(ring);
        fails("EINVAL", () -> fp_ring_enqueue_u64(ring, 1));
        fails("EINVAL", () -> fp_ring_enqueue_burst(ring, new long[1]));
        fails("EINVAL", () -> fp_ring_dequeue(ring, new long[1]));
        fails("EINVAL", () -> fp_ring_count(ring));
        fails("EINVAL", () -> fp_ring_close(ring));
        fails("EINVAL", () -> fp_ring_reserve_enqueue(ring, 1, 0, new fp_ring_span()));
        fails("EINVAL", () -> fp_ring_get_stats(ring, new fp_ring_stats()));
        equal(null, fp_ring_name(ring));
        equal(0, fp_ring_destroy(ring)); // like free(NULL)
        ring.delete();
        fails("EINVAL", () -> fp_ring_count(ring));
        fails("EINVAL", () -> fp_ring_count(null));
    }

    static void testDeletedOptionsAndStatisticsAreErrors() {
        fp_ring_opts opts = new fp_ring_opts();
        opts.delete();
        fails("EINVAL", () -> opts.getCapacity());
        fails("EINVAL", () -> fp_ring_create(opts));
        fp_ring_stats stats = new fp_ring_stats();
        stats.delete();
        fails("EINVAL", () -> stats.getCount());
    }

    static void testSpansAreWrittenAndReadInPlace() {
        fp_ring ring = newRing(4, 8, null);
        fp_ring_span span = new fp_ring_span();
        fails("EINVAL", () -> span.write(0, new long[1]));
        fp_ring_enqueue_burst(ring, new long[] {0, 0, 0});
        fp_ring_dequeue_burst(ring, new long[3]);
        equal(4, fp_ring_reserve_enqueue(ring, 9, 0, span));
        equal("1 3", span.getN1() + " " + span.getN2());
        fails("EINVAL", () -> fp_ring_reserve_enqueue(ring, 1, 0, span));
        equal(3, span.write(1, new long[] {11, 12, 13}));
        equal(1, span.write(0, new long[] {10}));
        fails("EINVAL", () -> span.write(2, new long[3]));
        fails("EINVAL", () -> span.write(0, new byte[7]));
        fails("EBUSY", () -> fp_ring_destroy(ring));
        equal(3, fp_ring_commit_enqueue(ring, span, 3));
        fails("EINVAL", () -> fp_ring_commit_enqueue(ring, span, 3));
        fails("EINVAL", () -> span.write(0, new long[1]));

        equal(3, fp_ring_reserve_dequeue(ring, 3, LibfpConstants.LIBFP_RING_BULK, span));
        long[] read = new long[2];
        equal(2, span.read(1, read));
        equal("[11, 12]", Arrays.toString(read));
        equal(3, fp_ring_commit_dequeue(ring, span, 3));
        fp_ring_destroy(ring);
        fails("EINVAL", () -> span.read(0, read));
    }

    static void testASpanThatAClosedRingTookBackIsDeadAfterDestroy() {
        fp_ring_opts opts = new fp_ring_opts();
        opts.setCapacity(4);
        opts.setProducer(LibfpConstants.LIBFP_ST);
        fp_ring ring = fp_ring_create(opts);
        fp_ring_span span = new fp_ring_span();
        equal(2, fp_ring_reserve_enqueue(ring, 2, 0, span));
        fp_ring_close(ring);
        fails("EPIPE", () -> fp_ring_commit_enqueue(ring, span, 2));
        fp_ring_destroy(ring);
        fails("EINVAL", () -> span.write(0, new long[1]));
        fails("EINVAL", () -> span.read(0, new long[1]));
    }

    static void testAnObjectThatIsDroppedGivesItsRingBack() {
        fp_ring ring = newRing(4, 8, "dropped");
        fp_ring found = fp_ring_lookup("dropped");
        found.delete();
        ring.delete();
        fails("ENOENT", () -> fp_ring_lookup("dropped"));
    }

    static void testStatisticsAndConstants() {
        fp_ring ring = newRing(4, 8, null);
        fp_ring_enqueue_burst(ring, new long[] {1, 2, 3});
        fp_ring_stats stats = new fp_ring_stats();
        equal(0, fp_ring_get_stats(ring, stats));
        equal("3 0 3", stats.getEnqueued() + " " + stats.getDequeued() + " " + stats.getCount());
        fp_ring_destroy(ring);
        equal(-1, LibfpConstants.LIBFP_FOREVER);
        // The same version, or a newer patch of it.
        equal(LibfpConstants.LIBFP_VERSION_NUMBER >> 8, fp_version_number() >> 8);
        equal(true, fp_version_string().startsWith(LibfpConstants.LIBFP_VERSION_MAJOR + "."));
        equal(LibfpConstants.LIBFP_FEATURE_RING, fp_features() & LibfpConstants.LIBFP_FEATURE_RING);
    }

    static void testExportsListsWhatIsWrapped() throws Exception {
        Set<String> listed = new TreeSet<>();
        for (String line : Files.readAllLines(Paths.get(exports))) {
            String[] words = line.split("\\s+", 3);
            // The initialiser of an options struct is called by its constructor.
            if (words.length > 1 && words[1].equals("wrapped") && !words[0].endsWith("_init")) {
                listed.add(words[0]);
            }
        }
        Set<String> wrapped = new TreeSet<>();
        for (Method method : Libfp.class.getDeclaredMethods()) {
            wrapped.add(method.getName());
        }
        equal(listed, wrapped);
    }

    public static void main(String[] args) throws Exception {
        exports = args[0];
        run(RingTest.class);
    }
}
