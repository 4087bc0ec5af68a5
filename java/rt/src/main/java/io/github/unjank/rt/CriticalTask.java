package io.github.unjank.rt;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * A periodic task that the garbage collector cannot stop.
 *
 * <p>The task runs on a native thread that the JVM does not know, in this process or in its own
 * process, and exchanges messages with Java through two lock-free rings in shared memory. Neither
 * side ever waits for the other: while a collection stops Java, the task goes on, and its messages
 * can be received afterwards. If the ring is full, a message is dropped and counted.
 *
 * <p>At each wake-up, the task calls its job: a function of a shared library with the C type {@code
 * unjank_job} (see {@code unjank_rt.h} in the jar). Without a job, it sends a report of the
 * wake-up, which {@link #receive(WakeUp)} reads.
 *
 * <pre>{@code
 * try (CriticalTask task = CriticalTask.every(Duration.ofMillis(1))
 *         .priority(80)
 *         .job(Path.of("/opt/plant/libcontrol.so"), "control_step", 64)
 *         .open()) {
 *     task.start();
 *     ByteBuffer message = task.newMessage();
 *     while (running) {
 *         if (task.receive(message.clear(), Duration.ofSeconds(1))) {
 *             show(message.flip());
 *         }
 *     }
 * }
 * }</pre>
 *
 * <p>Only one thread may receive and only one may send at a time. Another thread may take over if
 * its calls happen after those of the first.
 */
public final class CriticalTask implements AutoCloseable {
    private static final Duration LONGEST_OPENING = Duration.ofSeconds(10);
    static final long LONGEST_CLOSING_NANOS = 2_000_000_000L;
    private static final long LOOK_NANOS = 200_000;

    private final long handle;
    private final TaskMemory memory;
    private final MessageRing fromTask;
    private final MessageRing toTask;
    private final int messageBytes;
    private final long periodNanos;
    private final long process;
    private final boolean reports;
    private final ByteBuffer report =
            ByteBuffer.allocate(WakeUp.BYTES).order(ByteOrder.LITTLE_ENDIAN);

    /** Wraps a handle of {@link Native#openTask}. */
    CriticalTask(long handle, long periodNanos, int messageBytes, boolean reports)
            throws IOException {
        this.handle = handle;
        this.memory = TaskMemory.map(Native.taskDescriptor(handle));
        this.fromTask = memory.fromTask();
        this.toTask = memory.toTask();
        this.messageBytes = messageBytes;
        this.periodNanos = periodNanos;
        this.process = Native.taskProcess(handle);
        this.reports = reports;
    }

    /**
     * Begins to build a task with this period.
     *
     * @param period time between two wake-ups, above zero
     * @return a builder
     */
    public static CriticalTaskBuilder every(Duration period) {
        return new CriticalTaskBuilder(period);
    }

    /** Starts the task; it wakes for the first time one period from now. */
    public void start() {
        start(System.nanoTime() + periodNanos);
    }

    /**
     * Starts the task.
     *
     * @param first the moment of the first wake-up, as of {@link System#nanoTime()}
     * @throws IllegalStateException if it was started before
     */
    public void start(long first) {
        if (memory.get(TaskMemory.FIRST) != 0) {
            throw new IllegalStateException("this task was started before");
        }
        memory.set(TaskMemory.FIRST, Math.max(1, first));
    }

    /**
     * Takes the oldest message from the task, if there is one.
     *
     * @param target receives it at its position, which is advanced
     * @return whether there was one
     * @throws java.nio.BufferOverflowException if it does not fit; the message stays
     */
    public boolean receive(ByteBuffer target) {
        return fromTask.receive(target);
    }

    /**
     * Takes the oldest message from the task, and waits for one if there is none.
     *
     * @param target receives it at its position, which is advanced
     * @param longest how long to wait
     * @return whether there was one; false also if the task has ended or the thread is interrupted
     */
    public boolean receive(ByteBuffer target, Duration longest) {
        long until = System.nanoTime() + longest.toNanos();
        while (!fromTask.receive(target)) {
            boolean last = !isRunning();
            if (System.nanoTime() - until >= 0 || Thread.currentThread().isInterrupted()) {
                return false;
            }
            if (last) {
                // It may have sent its last message just before it ended.
                return fromTask.receive(target);
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
        return true;
    }

    /**
     * Takes the oldest report of a wake-up, if there is one. Allocates nothing.
     *
     * @param target receives it
     * @return whether there was one
     * @throws IllegalStateException if this task has a job and sends no reports
     */
    public boolean receive(WakeUp target) {
        if (!reports) {
            throw new IllegalStateException("this task has a job and sends no reports");
        }
        if (!fromTask.receive(report.clear())) {
            return false;
        }
        target.read(report);
        return true;
    }

    /**
     * Sends a message to the task, which takes at most one at each wake-up.
     *
     * @param message its remaining bytes are sent
     * @return false if the ring is full
     * @throws IllegalArgumentException if it is longer than the longest message
     */
    public boolean send(ByteBuffer message) {
        return toTask.send(message);
    }

    /**
     * Allocates a buffer for the longest message.
     *
     * @return a new buffer, little-endian
     */
    public ByteBuffer newMessage() {
        return ByteBuffer.allocateDirect(messageBytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /**
     * Counts the wake-ups so far.
     *
     * @return their number
     */
    public long wakeUps() {
        return memory.get(TaskMemory.WAKEUPS);
    }

    /**
     * Counts the missed periods: a wake-up before them was late, or its job took too long.
     *
     * @return their number
     */
    public long missedPeriods() {
        return memory.get(TaskMemory.MISSED);
    }

    /**
     * Counts the messages that were dropped because the ring was full.
     *
     * @return their number
     */
    public long lostMessages() {
        return memory.get(TaskMemory.LOST);
    }

    /**
     * Returns the number of the task's thread, as in {@code /proc}.
     *
     * @return the number
     */
    public int threadId() {
        return Math.toIntExact(memory.get(TaskMemory.THREAD));
    }

    /**
     * Returns the number of the task's process.
     *
     * @return the PID of its own process, or that of this JVM
     */
    public long processId() {
        return process == 0 ? ProcessHandle.current().pid() : process;
    }

    /**
     * Tells whether the task is ready or runs: it has not ended and was not closed, and its process
     * lives.
     *
     * @return whether it is
     */
    public boolean isRunning() {
        if (memory.get(TaskMemory.STATE) > TaskMemory.RUNNING) {
            return false;
        }
        try {
            return Native.taskAlive(handle);
        } catch (IllegalStateException closed) {
            return false;
        }
    }

    /**
     * Ends the task and waits for its end. Messages that it has sent can still be received. A
     * process that does not end in time is killed.
     *
     * @throws IllegalStateException if its job does not return; the thread goes on
     */
    @Override
    public void close() {
        if (!Native.closeTask(handle, LONGEST_CLOSING_NANOS) && process == 0) {
            throw new IllegalStateException("the job of the task does not return");
        }
    }

    /** Waits until the task is ready for its start; throws if it fails before. */
    void awaitReady() {
        long until = System.nanoTime() + LONGEST_OPENING.toNanos();
        while (memory.get(TaskMemory.STATE) == TaskMemory.STARTING) {
            if (!Native.taskAlive(handle) && memory.get(TaskMemory.STATE) == TaskMemory.STARTING) {
                throw new IllegalStateException("the process of the task ended at its start");
            }
            if (System.nanoTime() - until >= 0) {
                throw new IllegalStateException("the task was not ready after " + LONGEST_OPENING);
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
        long state = memory.get(TaskMemory.STATE);
        if (state == TaskMemory.REFUSED) {
            throw new RealtimePermissionException(memory.error());
        }
        if (state == TaskMemory.FAILED) {
            throw new IllegalStateException(memory.error());
        }
    }
}
