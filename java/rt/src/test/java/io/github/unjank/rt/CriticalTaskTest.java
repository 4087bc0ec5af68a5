package io.github.unjank.rt;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** Tasks that report their wake-ups, on a thread of this process and in their own process. */
@Timeout(1200)
class CriticalTaskTest {
    private static final Duration MS = Duration.ofMillis(1);

    private static CriticalTaskBuilder task(boolean ownProcess) {
        CriticalTaskBuilder builder = CriticalTask.every(MS);
        return ownProcess ? builder.inOwnProcess() : builder;
    }

    private static void awaitEnd(CriticalTask task) throws InterruptedException {
        while (task.isRunning()) {
            Thread.sleep(1);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void everyPeriodIsAWakeUpOrMissed(boolean ownProcess) throws Exception {
        try (CriticalTask task = task(ownProcess).periods(100).open()) {
            assertTrue(task.isRunning(), "it waits for its start");
            assertEquals(0, task.wakeUps());
            long first = System.nanoTime() + 5_000_000;
            task.start(first);
            awaitEnd(task);
            WakeUp wakeUp = new WakeUp();
            long next = 0;
            long received = 0;
            while (task.receive(wakeUp)) {
                assertEquals(next, wakeUp.period());
                assertEquals(first + next * MS.toNanos(), wakeUp.due());
                assertTrue(wakeUp.lateness() >= 0);
                assertEquals(wakeUp.woken() - wakeUp.due(), wakeUp.lateness());
                next += 1 + wakeUp.missed();
                received++;
            }
            assertEquals(100, next);
            assertEquals(received, task.wakeUps());
            assertEquals(100 - received, task.missedPeriods());
            assertEquals(0, task.lostMessages());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void itsThreadHasItsNameAndPriority(boolean ownProcess) throws Exception {
        Needs.realtime();
        try (CriticalTask task = task(ownProcess).name("control").priority(42).open()) {
            Path thread =
                    Path.of("/proc", Long.toString(task.processId()), "task", "" + task.threadId());
            assertEquals("control", Files.readString(thread.resolve("comm")).strip());
            assertEquals("fifo:42", Native.policy(task.threadId()));
            boolean ours = task.processId() == ProcessHandle.current().pid();
            assertNotEquals(ownProcess, ours);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aFullRingDropsAndCounts(boolean ownProcess) throws Exception {
        try (CriticalTask task = task(ownProcess).capacity(3).periods(1_000).open()) {
            task.start();
            awaitEnd(task);
            WakeUp wakeUp = new WakeUp();
            long received = 0;
            while (task.receive(wakeUp)) {
                received++;
            }
            assertEquals(4, received, "the next power of two");
            assertEquals(task.wakeUps() - 4, task.lostMessages());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aClosedTaskCannotBeUsed(boolean ownProcess) throws Exception {
        CriticalTask task = task(ownProcess).open();
        task.start();
        WakeUp wakeUp = new WakeUp();
        while (!task.receive(wakeUp)) {
            Thread.onSpinWait();
        }
        task.close();
        assertFalse(task.isRunning());
        long wakeUps = task.wakeUps();
        task.close();
        while (task.receive(wakeUp)) {
            assertTrue(wakeUp.period() > 0, "what it had sent is still there");
        }
        assertEquals(wakeUps, task.wakeUps());
        assertFalse(task.receive(task.newMessage(), Duration.ofMinutes(1)), "no message will come");
        if (ownProcess) {
            assertTrue(ProcessHandle.of(task.processId()).isEmpty());
        }
    }

    @Test
    void aTaskIsStartedOnce() {
        try (CriticalTask task = task(false).open()) {
            task.start();
            assertThrows(IllegalStateException.class, task::start);
        }
    }

    @Test
    void aKilledProcessIsNoticedAndItsReportsAreThere() throws Exception {
        try (CriticalTask task = task(true).open()) {
            task.start();
            while (task.wakeUps() < 10) {
                Thread.sleep(1);
            }
            assertTrue(ProcessHandle.of(task.processId()).orElseThrow().destroyForcibly());
            awaitEnd(task);
            ByteBuffer message = task.newMessage();
            long received = 0;
            while (task.receive(message.clear(), Duration.ofMinutes(1))) {
                received++;
            }
            assertTrue(received >= 10, "received " + received);
            long before = task.wakeUps();
            Thread.sleep(20);
            assertEquals(before, task.wakeUps());
        }
    }

    @Test
    void theProcessEndsWithItsJvm() throws Exception {
        Process jvm = new ChildJvm().start("keep-process");
        try {
            long pid = Long.parseLong(ChildJvm.firstLine(jvm));
            ProcessHandle task = ProcessHandle.of(pid).orElseThrow();
            jvm.destroyForcibly().waitFor();
            // The process checks its parent at each wake-up.
            while (isThere(task)) {
                Thread.sleep(1);
            }
        } finally {
            jvm.destroyForcibly();
        }
    }

    /** Whether a process lives; in a container, it may stay a zombie after its end. */
    private static boolean isThere(ProcessHandle process) throws Exception {
        try {
            String status = Files.readString(Path.of("/proc", process.pid() + "", "status"));
            return !status.contains("State:\tZ");
        } catch (java.nio.file.NoSuchFileException | java.io.UncheckedIOException gone) {
            return false;
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void itGoesOnWhileTheCollectorStopsJava(boolean ownProcess) throws Exception {
        byte[][] live = objects(400_000);
        try (CriticalTask task = task(ownProcess).capacity(1 << 16).open()) {
            task.start();
            WakeUp wakeUp = new WakeUp();
            // A busy machine may delay the task in one collection, but not in all of them.
            boolean wentOn = false;
            while (!wentOn) {
                long before = System.nanoTime();
                System.gc();
                long after = System.nanoTime();
                long during = 0;
                while (task.receive(wakeUp)) {
                    during += wakeUp.woken() > before && wakeUp.woken() < after ? 1 : 0;
                }
                long periods = (after - before) / MS.toNanos();
                if (periods < 10) {
                    live = objects(live.length * 2);
                }
                wentOn = periods >= 10 && during > periods / 2;
                // The test's time limit interrupts this.
                Thread.sleep(1);
            }
            assertEquals(0, task.lostMessages());
        }
        assertTrue(live.length >= 400_000, "they were there until the end");
    }

    /** Work for the collector. */
    private static byte[][] objects(int count) {
        byte[][] live = new byte[count][];
        for (int n = 0; n < count; n++) {
            live[n] = new byte[n % 200];
        }
        return live;
    }

    @Test
    void impossibleSettingsAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> CriticalTask.every(Duration.ZERO));
        assertThrows(IllegalArgumentException.class, () -> task(false).priority(100));
        assertThrows(IllegalArgumentException.class, () -> task(false).priority(0));
        assertThrows(IllegalArgumentException.class, () -> task(false).periods(0));
        assertThrows(IllegalArgumentException.class, () -> task(false).capacity((1 << 24) + 1));
        assertThrows(IllegalArgumentException.class, () -> task(false).name(""));
        assertThrows(
                IllegalArgumentException.class, () -> task(false).job(Path.of("job.so"), "job", 8));
        assertThrows(
                IllegalArgumentException.class,
                () -> task(false).job(Path.of("/job.so"), "job", 0));
        // More than a gigabyte of shared memory.
        assertThrows(
                IllegalArgumentException.class,
                () -> task(false).job(trustedLibrary(), "job", 1 << 20).capacity(1 << 24).open());
    }

    /** Any library that belongs to root. */
    private static Path trustedLibrary() {
        return Path.of(System.getProperty("java.home"), "lib", "server", "libjvm.so");
    }
}
