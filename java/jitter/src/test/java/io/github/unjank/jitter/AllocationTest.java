package io.github.unjank.jitter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;

/** The measuring threads allocate nothing during the run. */
@Timeout(1200)
class AllocationTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static long allocatedHere() {
        return THREADS.getCurrentThreadAllocatedBytes();
    }

    @Test
    void parkingAndRecordingAllocateNothing() throws Exception {
        Lateness lateness = new Lateness(2_000, 200_000);
        FutureTask<Long> measuring =
                new FutureTask<>(
                        () -> {
                            ParkedWakeUps.warmUp();
                            allocatedHere();
                            lateness.startAt(System.nanoTime() + 1_000_000);
                            long before = allocatedHere();
                            ParkedWakeUps.wakePeriodically(lateness);
                            return allocatedHere() - before;
                        });
        new Thread(measuring).start();
        assertEquals(0, measuring.get());
        assertTrue(lateness.isComplete());
    }

    @Test
    void theTimerAllocatesNothing() throws Exception {
        assertEquals(0, allocatedBy("meas", "--way timer --count 3000"));
    }

    @Test
    void theParkedThreadAllocatesNothing() throws Exception {
        assertEquals(0, allocatedBy("meas", "--way park --count 3000"));
    }

    /** Bytes that a thread of this name allocates between the first and the last check of a run. */
    private static long allocatedBy(String name, String arguments) throws Exception {
        Options options = Options.parse((arguments + " --out " + Path.of("unused")).split(" "));
        Lateness lateness = new Lateness(options.wakeups(), options.periodNanos());
        try (WakeUps wakeUps = WakeUps.of(options, lateness)) {
            long thread = idOf(name);
            wakeUps.go();
            // The start itself may allocate. It is over in the first sleep until a moment.
            while (!sleepsUntilAMoment(thread)) {
                assertFalse(wakeUps.await(1), "the thread has ended before it was looked at");
            }
            long before = THREADS.getThreadAllocatedBytes(thread);
            long last = before;
            while (!wakeUps.await(1)) {
                // For a thread that has ended, the counter is -1.
                last = Math.max(last, THREADS.getThreadAllocatedBytes(thread));
            }
            assertTrue(before >= 0, "the thread has ended before it was looked at");
            assertTrue(lateness.isComplete());
            return last - before;
        }
    }

    private static boolean sleepsUntilAMoment(long thread) {
        ThreadInfo info = THREADS.getThreadInfo(thread);
        return info != null && info.getThreadState() == Thread.State.TIMED_WAITING;
    }

    private static long idOf(String name) {
        for (ThreadInfo info : THREADS.getThreadInfo(THREADS.getAllThreadIds())) {
            if (info != null && info.getThreadName().equals(name)) {
                return info.getThreadId();
            }
        }
        throw new AssertionError("no thread " + name);
    }
}
