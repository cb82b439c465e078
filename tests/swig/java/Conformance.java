// SPDX-License-Identifier: BSD-2-Clause

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import libfp.FpException;
import libfp.LibfpConstants;

/**
 * What Java's drivers of conformance scripts share: cases, steps, values, handles. One
 * object runs one case. tests/conformance/README.md has the format.
 *
 * @param <H> a part's handles: what create makes and destroy ends
 */
abstract class Conformance<H> {
    /** A step that did not do what it should. */
    static final class Wrong extends Exception {
        private static final long serialVersionUID = 1L;

        Wrong(Object expected, Object got) {
            super("expected " + expected + ", got " + got);
        }
    }

    private static final List<String> EVERYWHERE = List.of("do", "expect", "only", "why");

    /** The pair of the case's kinds. */
    final String[] sides;
    JsonObject step;

    private final String key; // of a step: its handle
    private final String otherwise;
    private final Map<String, H> handles = new HashMap<>();

    /** A run on a pair of kinds; `key` of a step names its handle, `otherwise` is its name. */
    Conformance(String[] sides, String key, String otherwise) {
        this.sides = sides;
        this.key = key;
        this.otherwise = otherwise;
    }

    // ---- what a part brings ----

    /** The keys that each call knows besides its handle and those of every step. */
    abstract Map<String, List<String>> calls();

    /** Before a step's call. */
    abstract void prepare();

    abstract Object call(String name) throws Wrong;

    /** Compares what is not the result. */
    abstract void check(String name, Object got) throws Wrong;

    /** Whether a case may end now. */
    boolean isAllEnded() {
        return handles.isEmpty();
    }

    // ---- handles ----

    /** The step's handle; null: it was not made yet, or it has ended. */
    H handleOrNull() {
        return handles.get(text(key, otherwise));
    }

    H handle() {
        H handle = handleOrNull();
        if (handle == null) {
            throw bad("no " + key + " " + text(key, otherwise));
        }
        return handle;
    }

    int keep(H handle) {
        handles.put(text(key, otherwise), handle);
        return 0;
    }

    /** After a call that ended the handle. */
    int ended(int status) {
        handles.remove(text(key, otherwise));
        return status;
    }

    // ---- values of the script ----

    static IllegalArgumentException bad(String what) {
        return new IllegalArgumentException("the script: " + what);
    }

    String text(String key, String otherwise) {
        return step.has(key) ? step.get(key).getAsString() : otherwise;
    }

    long number(String key, long otherwise) {
        return step.has(key) ? step.get(key).getAsLong() : otherwise;
    }

    boolean flag(String key) {
        return step.has(key) && step.get(key).getAsBoolean();
    }

    /** How long a call may wait, in nanoseconds. */
    long timeout() {
        return text("timeout", "").equals("forever") ? LibfpConstants.LIBFP_FOREVER
                : number("timeout", 0);
    }

    byte[] element(JsonElement value, int size) {
        ByteBuffer bytes = ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
        if (value.getAsJsonPrimitive().isNumber()) {
            if (size == 8) {
                return bytes.putLong(value.getAsLong()).array();
            }
            if (size == 4) {
                return bytes.putInt((int) value.getAsLong()).array();
            }
            throw bad("a number for an element of " + size + " bytes");
        }
        String digits = value.getAsString();
        int n = digits.length() / 2;
        for (int i = 0; i < size; i++) {
            int at = i % n * 2;
            bytes.put((byte) Integer.parseInt(digits.substring(at, at + 2), 16));
        }
        return bytes.array();
    }

    static void compare(Object expected, Object got) throws Wrong {
        if (!String.valueOf(expected).equals(String.valueOf(got))) {
            throw new Wrong(expected, got);
        }
    }

    /** Compares the statistics that `fields` names with what their getters give. */
    void compareFields(Object stats) throws Wrong {
        for (Map.Entry<String, JsonElement> wanted
                : step.getAsJsonObject("fields").entrySet()) {
            String field = wanted.getKey();
            String getter = "get" + field.substring(0, 1).toUpperCase() + field.substring(1);
            try {
                Object value = stats.getClass().getMethod(getter).invoke(stats);
                compare(field + " " + wanted.getValue(), field + " " + value);
            } catch (ReflectiveOperationException e) {
                throw bad(field + " is no statistic");
            }
        }
    }

    // ---- steps and cases ----

    private void run(JsonObject next) throws Wrong {
        step = next;
        String name = text("do", "");
        if (!calls().containsKey(name)) {
            throw bad(name + " is no call");
        }
        for (String each : step.keySet()) {
            if (!EVERYWHERE.contains(each) && !each.equals(key)
                    && !calls().get(name).contains(each)) {
                throw bad(name + " has no " + each);
            }
        }
        prepare();
        Object got;
        try {
            got = call(name);
        } catch (FpException e) {
            got = "-" + e.errnoName();
        }
        JsonElement expect = step.get("expect");
        if (expect.isJsonPrimitive() && expect.getAsString().equals("positive")) {
            compare(true, got instanceof Number && ((Number) got).longValue() > 0);
        } else {
            compare(expect.isJsonNull() ? null : expect.getAsString(), got);
        }
        check(name, got);
    }

    private static boolean forUs(JsonObject object) {
        JsonElement java = JsonParser.parseString("\"java\"");
        return !object.has("only") || object.getAsJsonArray("only").contains(java);
    }

    private static int steps;
    private static int cases;

    /** Runs a case; tells the step that was wrong, counted from 1, the end as one more; or 0. */
    private int runCase(JsonObject c, boolean quiet) {
        int n = 0;
        for (JsonElement next : c.getAsJsonArray("steps")) {
            n++;
            if (!forUs(next.getAsJsonObject())) {
                continue;
            }
            try {
                run(next.getAsJsonObject());
            } catch (Wrong e) {
                if (!quiet) {
                    System.err.println(c.get("case").getAsString() + " ["
                            + String.join("-", sides) + "] step " + n + " "
                            + text("do", "") + ": " + e.getMessage());
                }
                return n;
            }
            steps++;
        }
        if (isAllEnded()) {
            return 0;
        }
        if (!quiet) {
            System.err.println(c.get("case").getAsString() + " ends, but something is open");
        }
        return n + 1;
    }

    /** A driver's main, for scripts of that part. */
    static void main(String[] args, String part, Function<String[], Conformance<?>> driver)
            throws Exception {
        boolean planted = args[0].equals("--planted");
        String path = args[args.length - 1];
        JsonObject script = JsonParser.parseString(
                new String(Files.readAllBytes(Paths.get(path)))).getAsJsonObject();
        if (!script.get("part").getAsString().equals(part)) {
            throw bad("it is for another part");
        }
        boolean good = true;
        for (JsonElement element : script.getAsJsonArray("cases")) {
            JsonObject c = element.getAsJsonObject();
            JsonElement kinds = c.has("kinds") ? c.get("kinds")
                    : JsonParser.parseString("[[\"mt\", \"mt\"]]");
            if (!forUs(c)) {
                continue;
            }
            cases++;
            for (JsonElement kind : kinds.getAsJsonArray()) {
                JsonArray pair = kind.getAsJsonArray();
                String[] sides = {pair.get(0).getAsString(), pair.get(1).getAsString()};
                int wrong = driver.apply(sides).runCase(c, planted);
                int last = c.getAsJsonArray("steps").size() + (c.has("mistake") ? 1 : 0);
                if (planted && wrong != last) {
                    System.err.println(c.get("case") + ": the mistake was not found");
                }
                good &= wrong == (planted ? last : 0);
            }
        }
        System.out.println(planted ? "mistakes of " + cases + " cases looked for"
                : steps + " steps of " + cases + " cases passed");
        System.exit(good && cases > 0 ? 0 : 1);
    }
}
