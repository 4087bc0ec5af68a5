package io.github.unjank.rt;

import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.Assumptions;

import java.util.concurrent.TimeUnit;

/** What a test needs of the machine. It fails, not skips, when {@code UNJANK_TEST_ALL} is 1. */
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

    /** Root, who can make files of other users. */
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
