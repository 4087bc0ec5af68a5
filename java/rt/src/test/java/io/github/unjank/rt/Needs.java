package io.github.unjank.rt;

import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.Assumptions;

import java.util.concurrent.TimeUnit;

/** Requirements of tests. Without them, a test is skipped; with UNJANK_TEST_ALL=1, it fails. */
final class Needs {
    private Needs() {}

    /** The right to make threads real-time. */
    static void realtime() {
        try {
            RtThread.setPriority(Thread.currentThread(), 101);
            RtThread.setPriority(Thread.currentThread(), RtThread.ORDINARY);
        } catch (RealtimePermissionException refused) {
            missing(refused.getMessage());
        }
    }

    /** A program on PATH. */
    static void program(String name) throws Exception {
        Process found = new ProcessBuilder("sh", "-c", "command -v " + name).start();
        if (!found.waitFor(600, TimeUnit.SECONDS) || found.exitValue() != 0) {
            missing("there is no " + name);
        }
    }

    /** Root, to create files of other users. */
    static void root() {
        if (!isRoot()) {
            missing("this needs root");
        }
    }

    static boolean isRoot() {
        return System.getProperty("user.name").equals("root");
    }

    private static void missing(String what) {
        if ("1".equals(System.getenv("UNJANK_TEST_ALL"))) {
            fail(what);
        }
        Assumptions.abort(what);
    }
}
