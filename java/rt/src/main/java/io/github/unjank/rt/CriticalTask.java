package io.github.unjank.rt;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * A periodic task that the garbage collector cannot stop.
 *
 * <p>The task runs on a native thread that the JVM does not know, in this process or in one of its
 * own, and exchanges messages with Java through two lock-free rings in shared memory. Neither side
 * ever waits for the other: while a collection stops Java, the task goes on, and its messages are
 * there afterwards. A message that finds the ring full is dropped and counted.
 *
 * <p>What the task does at each wake-up is a function of a shared library with the C type {@code
 * unjank_job} (see {@code unjank_rt.h} in the jar), or, without one, a report of the wake-up, which
 * {@link #receive(WakeUp)} reads.
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
 * <p>One thread may receive and one may send at a time; another may take over if it happens after.
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

    /** The task that {@link Native#openTask} has given this handle. */
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
     * A task that wakes so often.
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
     * @param first the first moment of waking, as of {@link System#nanoTime()}
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
     * @param target where it goes, from the position on, which is then after it
     * @return whether there was one
     * @throws java.nio.BufferOverflowException if it does not fit; the message stays
     */
    public boolean receive(ByteBuffer target) {
        return fromTask.receive(target);
    }

    /**
     * Takes the oldest message from the task, and waits for one if there is none.
     *
     * @param target where it goes, from the position on, which is then after it
     * @param longest how long to wait
     * @return whether there was one; false also when the task has ended or the thread is
     *     interrupted
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
     * @param target where it goes
     * @return whether there was one
     * @throws IllegalStateException if this task has a job, whose messages are its own
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
     * Sends a message to the task, which gets at most one at each wake-up.
     *
     * @param message what remains in it is sent
     * @return false if the ring is full
     * @throws IllegalArgumentException if it is longer than a message can be
     */
    public boolean send(ByteBuffer message) {
        return toTask.send(message);
    }

    /**
     * A buffer for the longest message.
     *
     * @return a new buffer, little-endian
     */
    public ByteBuffer newMessage() {
        return ByteBuffer.allocateDirect(messageBytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /**
     * Wake-ups so far.
     *
     * @return their number
     */
    public long wakeUps() {
        return memory.get(TaskMemory.WAKEUPS);
    }

    /**
     * Periods that passed without a wake-up, since the one before was late or long.
     *
     * @return their number
     */
    public long missedPeriods() {
        return memory.get(TaskMemory.MISSED);
    }

    /**
     * Messages that were dropped since nobody had received those before.
     *
     * @return their number
     */
    public long lostMessages() {
        return memory.get(TaskMemory.LOST);
    }

    /**
     * The number of the task's thread, as in {@code /proc}.
     *
     * @return the number
     */
    public int threadId() {
        return Math.toIntExact(memory.get(TaskMemory.THREAD));
    }

    /**
     * The process that the task has to itself.
     *
     * @return its number, or that of this JVM
     */
    public long processId() {
        return process == 0 ? ProcessHandle.current().pid() : process;
    }

    /**
     * Whether the task is ready or runs: it has not ended, was not closed, and its process lives.
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
     * Ends the task and waits for that. What it has sent can still be received.
     *
     * @throws IllegalStateException if its job does not come to an end; a process is then killed, a
     *     thread goes on
     */
    @Override
    public void close() {
        if (!Native.closeTask(handle, LONGEST_CLOSING_NANOS) && process == 0) {
            throw new IllegalStateException("the job of the task does not come to an end");
        }
    }

    /** Waits until the task waits for its start, or throws why it does not. */
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
        if (memory.get(TaskMemory.STATE) == TaskMemory.FAILED) {
            String error = memory.error();
            if (error.contains(" needs ")) {
                throw new RealtimePermissionException(error);
            }
            throw new IllegalStateException(error);
        }
    }
}
