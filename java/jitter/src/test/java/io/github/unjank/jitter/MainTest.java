package io.github.unjank.jitter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** The whole application in its own JVM. */
@Timeout(1200)
class MainTest {
    /** The largest error of interpolation between the clocks of JFR and of the measurement. */
    private static final long CLOCKS_APART = 100_000;

    @TempDir Path dir;

    private record Answer(int exit, String out, String err) {}

    private record Run(long[] lateness, long firstDue, Map<Integer, List<long[]>> events) {
        long missed() {
            return java.util.Arrays.stream(lateness).filter(late -> late == -1).count();
        }
    }

    private Answer run(String input, String before, String jvm, String arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.addAll(words(before));
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx64m", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(words(jvm));
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.add(Main.class.getName());
        command.addAll(words(arguments));
        Path out = dir.resolve("out.txt");
        Path err = dir.resolve("err.txt");
        Process process =
                new ProcessBuilder(command)
                        .redirectOutput(out.toFile())
                        .redirectError(err.toFile())
                        .start();
        try (var stdin = process.getOutputStream()) {
            stdin.write(input.getBytes(StandardCharsets.UTF_8));
        }
        if (!process.waitFor(600, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            fail("it does not end: " + Files.readString(out) + Files.readString(err));
        }
        return new Answer(process.exitValue(), Files.readString(out), Files.readString(err));
    }

    private static List<String> words(String line) {
        return line.isEmpty() ? List.of() : List.of(line.split(" "));
    }

    private static Run read(Path file) throws Exception {
        ByteBuffer in = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        assertEquals(0x314a4a55, in.getInt(), "UJJ1");
        assertEquals(1, in.getInt());
        assertEquals(0, in.getInt());
        long[] lateness = new long[Math.toIntExact(in.getLong())];
        assertEquals(1_000_000, in.getLong());
        long first = in.getLong();
        for (int n = 0; n < lateness.length; n++) {
            lateness[n] = in.getLong();
        }
        Map<Integer, List<long[]>> events = new TreeMap<>();
        for (int left = in.getInt(); left > 0; left--) {
            int kind = in.get();
            long[] span = {in.getLong(), in.getLong()};
            events.computeIfAbsent(kind, none -> new ArrayList<>()).add(span);
            byte[] name = new byte[in.getShort()];
            in.get(name);
            assertTrue(name.length > 0);
        }
        assertFalse(in.hasRemaining());
        return new Run(lateness, first, events);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--way park --variant normal",
                "--way timer --variant normal",
                "--way park --variant thread",
                "--way timer --variant thread",
                "--variant native",
                "--variant process",
            })
    void everyPeriodIsRecorded(String way) throws Exception {
        Path file = dir.resolve("run.ujj");
        Answer answer =
                run(
                        "go\n",
                        "",
                        "-XX:+UseSerialGC",
                        way + " --count 400 --priority 7 --out " + file);
        if (answer.exit() == 4 && !"1".equals(System.getenv("UNJANK_TEST_ALL"))) {
            Assumptions.abort(answer.err());
        }
        assertEquals(0, answer.exit(), answer.err());
        assertTrue(answer.out().matches("ready \\d+\ndone\n"), answer.out());
        Run run = read(file);
        assertEquals(400, run.lateness().length);
        assertTrue(run.lateness()[0] >= 0, "nothing can have passed before the first");
        String line = (400 - run.missed()) + " wake-ups, " + run.missed() + " missed periods;";
        assertTrue(answer.err().startsWith(line), answer.err());
    }

    @ParameterizedTest
    @ValueSource(strings = {"Serial", "Parallel", "G1", "Z", "Shenandoah"})
    void collectionsAreOnTheSameClock(String collector) throws Exception {
        String option = "-XX:+Use" + collector + "GC";
        Path file = dir.resolve("run.ujj");
        Answer answer =
                run(
                        "go\n",
                        "",
                        option,
                        "--count 1000 --garbage 2 --heap-live-mib 16 --out " + file);
        if (answer.exit() != 0 && !answer.out().startsWith("ready")) {
            Assumptions.abort("this JVM has no " + collector + ": " + answer.err());
        }
        assertEquals(0, answer.exit(), answer.err());
        Run run = read(file);
        List<long[]> pauses = run.events().getOrDefault(1, List.of());
        List<long[]> safepoints = run.events().getOrDefault(2, List.of());
        assertFalse(pauses.isEmpty());
        assertFalse(safepoints.isEmpty());
        long[] longest = pauses.stream().max((a, b) -> Long.compare(a[1], b[1])).orElseThrow();
        long middle = longest[0] + longest[1] / 2;
        assertTrue(
                safepoints.stream().anyMatch(s -> s[0] <= middle && middle <= s[0] + s[1]),
                "no safepoint at " + middle);
        // No thread wakes while all Java threads are stopped.
        for (int period = 0; period < run.lateness().length; period++) {
            long woken = run.firstDue() + period * 1_000_000L + run.lateness()[period];
            boolean inside =
                    run.lateness()[period] >= 0
                            && pauses.stream()
                                    .anyMatch(
                                            p ->
                                                    woken > p[0] + CLOCKS_APART
                                                            && woken < p[0] + p[1] - CLOCKS_APART);
            assertFalse(inside, "woke in a pause, at " + woken);
        }
    }

    @Test
    void withoutGoNothingIsMeasured() throws Exception {
        Path file = dir.resolve("run.ujj");
        Answer answer = run("no\n", "", "", "--out " + file);
        assertEquals(1, answer.exit());
        assertTrue(answer.err().contains("before the line `go`"), answer.err());
        assertFalse(Files.exists(file));
    }

    @Test
    void wrongOptionsAreNamed() throws Exception {
        Answer answer = run("", "", "", "--count none --out x");
        assertEquals(2, answer.exit());
        assertTrue(answer.err().contains("--count is \"none\""), answer.err());
        assertEquals("", answer.out());
    }

    @Test
    void aLiveSetThatDoesNotFitEndsTheRun() throws Exception {
        Answer answer =
                run("go\n", "", "", "--garbage 1 --heap-live-mib 512 --out " + dir.resolve("x"));
        assertEquals(1, answer.exit());
        assertTrue(answer.err().contains("load-0: java.lang.OutOfMemoryError"), answer.err());
    }

    @ParameterizedTest
    @ValueSource(strings = {"thread", "native", "process"})
    void withoutThePrivilegeTheFixIsNamed(String variant) throws Exception {
        boolean root = System.getProperty("user.name").equals("root");
        String before =
                (root ? "setpriv --inh-caps=-sys_nice --bounding-set=-sys_nice " : "")
                        + "prlimit --rtprio=0:0";
        Answer answer = run("go\n", before, "", "--variant " + variant + " --out x");
        assertEquals(4, answer.exit(), answer.err());
        assertTrue(answer.err().contains("CAP_SYS_NICE"), answer.err());
    }

    @Test
    void theSelfTestSaysWhatASampleCosts() throws Exception {
        Answer answer = run("", "", "", "--self-test");
        assertTrue(
                answer.out()
                        .matches(
                                "recording costs \\d+\\.\\d ns a wake-up and allocates 0"
                                    + " bytes.*\n"),
                answer.out());
    }
}
