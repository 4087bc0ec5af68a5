package io.github.unjank.jitter;

import io.github.unjank.rt.RealtimePermissionException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Wakes periodically while other threads make garbage, and records how late.
 *
 * <p>It prints {@code ready PID} when all its threads exist, so that another process can set their
 * priorities, and waits for a line {@code go}. It prints {@code done} when the file is written.
 * Messages go to standard error. Exit codes: 0 done, 1 failed, 2 wrong options, 4 no permission.
 */
public final class Main {
    private static final int FAILED = 1;
    private static final int USAGE = 2;
    private static final int PERMISSION = 4;

    /** Time between two clock marks in the recording. */
    private static final long BETWEEN_MARKS_MS = 5_000;

    private Main() {}

    /**
     * Runs the measurement.
     *
     * @param arguments see {@link Options}
     */
    public static void main(String[] arguments) {
        // If a load thread runs out of memory, the run must fail instead of going on without load.
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> fail(thread.getName(), error));
        try {
            if (List.of(arguments).contains("--help")) {
                System.out.print(Options.HELP);
            } else if (List.of(arguments).contains("--self-test")) {
                System.out.println(SelfTest.run());
            } else {
                measure(Options.parse(arguments), System.out, System.err);
            }
        } catch (Options.UsageException wrong) {
            System.err.println("unjank-jitter: " + wrong.getMessage() + "; --help shows the options");
            Runtime.getRuntime().halt(USAGE);
        } catch (RealtimePermissionException refused) {
            System.err.println("unjank-jitter: " + refused.getMessage());
            Runtime.getRuntime().halt(PERMISSION);
        } catch (IOException | InterruptedException | RuntimeException | LinkageError failed) {
            fail("main", failed);
        }
        System.exit(0);
    }

    private static void measure(Options options, PrintStream out, PrintStream err)
            throws IOException, InterruptedException {
        Lateness lateness = new Lateness(options.wakeups(), options.periodNanos());
        try (JvmEvents events = JvmEvents.start(err);
                WakeUps wakeUps = WakeUps.of(options, lateness)) {
            Garbage garbage = Garbage.start(options, lateness);
            events.mark();
            out.println("ready " + ProcessHandle.current().pid());
            out.flush();
            awaitGo();
            events.mark();
            wakeUps.go();
            garbage.go();
            while (!wakeUps.await(BETWEEN_MARKS_MS)) {
                events.mark();
            }
            garbage.stop();
            events.mark();
            List<JvmEvent> during = events.between(lateness.due(0), lateness.due(lateness.periods()));
            ResultFile.write(options.out(), lateness, during);
            err.println(lateness.summary());
            out.println("done");
            out.flush();
        }
    }

    private static void awaitGo() throws IOException {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.strip().equals("go")) {
                return;
            }
        }
        throw new IOException("standard input ended before the line `go`");
    }

    private static void fail(String thread, Throwable error) {
        System.err.println("unjank-jitter: " + thread + ": " + error);
        // Load threads could delay an orderly exit for long.
        Runtime.getRuntime().halt(FAILED);
    }
}
