package io.github.unjank.rt;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;

/** The contract of {@link RtThread#setPriority}. */
class RtThreadTest {
    /** Runs on a new thread, so that no priority remains. */
    private static <T> T alone(java.util.concurrent.Callable<T> work) throws Exception {
        FutureTask<T> task = new FutureTask<>(work);
        Thread thread = new Thread(task, "alone");
        thread.start();
        thread.join();
        return task.get();
    }

    @ParameterizedTest
    @ValueSource(ints = {Integer.MIN_VALUE, -1, 0, 11, 50, 99, 200, Integer.MAX_VALUE})
    void otherNumbersAreRefused(int priority) {
        IllegalArgumentException error =
                assertThrows(
                        IllegalArgumentException.class,
                        () -> RtThread.setPriority(Thread.currentThread(), priority));
        assertTrue(error.getMessage().contains(Integer.toString(priority)), error.getMessage());
    }

    @Test
    void oneToTenAreThoseOfJava() throws Exception {
        for (int priority = Thread.MIN_PRIORITY; priority <= Thread.MAX_PRIORITY; priority++) {
            int given = priority;
            assertEquals(
                    given,
                    alone(
                            () -> {
                                RtThread.setPriority(Thread.currentThread(), given);
                                return Thread.currentThread().getPriority();
                            }));
        }
        // They need not have been started, as in Java.
        Thread fresh = new Thread(() -> {});
        RtThread.setPriority(fresh, 7);
        assertEquals(7, fresh.getPriority());
    }

    @Test
    void aThreadBecomesRealtimeAndComesBack() throws Exception {
        Needs.realtime();
        for (int priority : new int[] {101, 150, 199}) {
            String policies =
                    alone(
                            () -> {
                                RtThread.setPriority(Thread.currentThread(), priority);
                                String during = RtThread.policy();
                                RtThread.setPriority(Thread.currentThread(), RtThread.ORDINARY);
                                return during + " " + RtThread.policy().split(":")[0];
                            });
            assertEquals("fifo:" + (priority - 100) + " other", policies);
        }
    }

    @Test
    void childrenOfARealtimeThreadAreOrdinary() throws Exception {
        Needs.realtime();
        String policy =
                alone(
                        () -> {
                            RtThread.setPriority(Thread.currentThread(), 120);
                            return alone(RtThread::policy);
                        });
        assertEquals("other", policy.split(":")[0]);
    }

    @Test
    void anOrdinaryThreadMayBeSentBackAtAnyTime() throws Exception {
        assertEquals(
                "other",
                alone(
                        () -> {
                            RtThread.setPriority(Thread.currentThread(), RtThread.ORDINARY);
                            return RtThread.policy().split(":")[0];
                        }));
    }

    @Test
    void anotherThreadIsFoundByItsNativeNumber() throws Exception {
        Needs.realtime();
        CountDownLatch ready = new CountDownLatch(1);
        CountDownLatch raised = new CountDownLatch(1);
        FutureTask<String> task =
                new FutureTask<>(
                        () -> {
                            ready.countDown();
                            raised.await();
                            return RtThread.policy();
                        });
        // A name that looks like a line of the thread dump.
        Thread other = new Thread(task, "x\" #1 [1] prio=5 os_prio=0 nid=0x1 runnable");
        other.start();
        ready.await();
        RtThread.setPriority(other, 133);
        assertEquals("other", RtThread.policy().split(":")[0]);
        raised.countDown();
        assertEquals("fifo:33", task.get());
    }

    @Test
    void aThreadThatDoesNotRunIsRefused() throws Exception {
        Thread thread = new Thread(() -> {}, "brief");
        assertThrows(IllegalThreadStateException.class, () -> RtThread.setPriority(thread, 120));
        thread.start();
        thread.join();
        assertThrows(IllegalThreadStateException.class, () -> RtThread.setPriority(thread, 120));
    }

    @Test
    void aVirtualThreadIsRefused() throws Exception {
        Thread virtual;
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            virtual =
                    (Thread)
                            Class.forName("java.lang.Thread$Builder")
                                    .getMethod("unstarted", Runnable.class)
                                    .invoke(builder, (Runnable) () -> {});
        } catch (NoSuchMethodException beforeJdk21) {
            return;
        }
        IllegalArgumentException error =
                assertThrows(
                        IllegalArgumentException.class, () -> RtThread.setPriority(virtual, 120));
        assertTrue(error.getMessage().contains("virtual"), error.getMessage());
    }

    @Test
    void nullIsRefused() {
        assertThrows(NullPointerException.class, () -> RtThread.setPriority(null, 5));
    }

    @Test
    void theThreadIdIsThatOfLinux() throws Exception {
        assertEquals(
                "alone",
                alone(
                        () ->
                                java.nio.file.Files.readString(
                                                java.nio.file.Path.of(
                                                        "/proc/self/task",
                                                        Integer.toString(RtThread.threadId()),
                                                        "comm"))
                                        .strip()));
    }
}
