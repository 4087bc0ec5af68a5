package io.github.unjank.rt;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;

/** Builds a {@link CriticalTask}: see {@link CriticalTask#every}. */
public final class CriticalTaskBuilder {
    private static final int SLOTS_TO_TASK = 64;

    private final long periodNanos;
    private String name = "critical";
    private int priority;
    private long periods;
    private int slots = 1_024;
    private int messageBytes = WakeUp.BYTES;
    private String library = "";
    private String symbol = "";
    private boolean ownProcess;

    CriticalTaskBuilder(Duration period) {
        periodNanos = period.toNanos();
        if (periodNanos <= 0) {
            throw new IllegalArgumentException("the period " + period + " is not above zero");
        }
    }

    /**
     * Sets the name of its thread; Linux keeps 15 bytes of it.
     *
     * @param name the name
     * @return this
     */
    public CriticalTaskBuilder name(String name) {
        if (name.isEmpty() || name.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("a thread cannot have the name \"" + name + "\"");
        }
        this.name = name;
        return this;
    }

    /**
     * Sets its real-time priority. Without one, it is an ordinary thread.
     *
     * @param priority 1 to 99 of {@code SCHED_FIFO}
     * @return this
     */
    public CriticalTaskBuilder priority(int priority) {
        if (priority < 1 || priority > 99) {
            throw new IllegalArgumentException("priority " + priority + " is not 1 to 99");
        }
        this.priority = priority;
        return this;
    }

    /**
     * Ends the task after this many periods, missed periods included. Without this, it has no end.
     *
     * @param periods 1 or more
     * @return this
     */
    public CriticalTaskBuilder periods(long periods) {
        if (periods < 1) {
            throw new IllegalArgumentException(periods + " periods are not 1 or more");
        }
        this.periods = periods;
        return this;
    }

    /**
     * Sets the capacity of the ring to Java, 1024 messages by default. It must be at least the
     * longest collection divided by the period.
     *
     * @param messages up to 16777216; rounded up to a power of two
     * @return this
     */
    public CriticalTaskBuilder capacity(int messages) {
        if (messages < 1 || messages > 1 << 24) {
            throw new IllegalArgumentException(
                    "a capacity of " + messages + " messages is not 1 to 16777216");
        }
        slots = messages == 1 ? 1 : Integer.highestOneBit(messages - 1) << 1;
        return this;
    }

    /**
     * Sets the function that it calls at each wake-up. The library is loaded into the process of
     * the task.
     *
     * @param library absolute path of a shared library that only this user and root can write
     * @param symbol name of a function of the C type {@code unjank_job}; the caller guarantees the
     *     type, and that the code neither blocks nor allocates
     * @param longestMessage the longest message in either direction, in bytes
     * @return this
     */
    public CriticalTaskBuilder job(Path library, String symbol, int longestMessage) {
        if (!library.isAbsolute()) {
            throw new IllegalArgumentException(library + " is not an absolute path");
        }
        if (longestMessage < 1 || longestMessage > 1 << 20) {
            throw new IllegalArgumentException(
                    "a longest message of " + longestMessage + " bytes is not 1 to 1048576");
        }
        this.library = library.toString();
        this.symbol = Objects.requireNonNull(symbol, "symbol");
        this.messageBytes = longestMessage;
        return this;
    }

    /**
     * Runs the task in its own process, which ends with this JVM. A full heap of the JVM does not
     * affect the task, and a crash of the task does not affect the JVM.
     *
     * @return this
     */
    public CriticalTaskBuilder inOwnProcess() {
        ownProcess = true;
        return this;
    }

    /**
     * Creates the thread or process, and waits until it is ready for its start.
     *
     * @return the task
     * @throws RealtimePermissionException without the privilege for the priority
     * @throws IllegalStateException if the task cannot be prepared; the message has the reason
     * @throws UnsatisfiedLinkError if the native library cannot be loaded, or the library of the
     *     job is for another architecture or can be written by other users
     */
    public CriticalTask open() {
        String code =
                library.isEmpty()
                        ? ""
                        : NativeFiles.trusted(library, "the job of a task").toString();
        Path program = ownProcess ? NativeFiles.program() : null;
        long handle = 0;
        try {
            handle =
                    Native.openTask(
                            name,
                            periodNanos,
                            periods,
                            priority,
                            Settings.longestRunNanos(),
                            Settings.force(),
                            slots,
                            SLOTS_TO_TASK,
                            messageBytes,
                            code,
                            symbol,
                            program == null ? "" : program.toString());
            CriticalTask task =
                    new CriticalTask(handle, periodNanos, messageBytes, library.isEmpty());
            task.awaitReady();
            handle = 0;
            return task;
        } catch (IOException unmapped) {
            throw new IllegalStateException(
                    "cannot map the memory of the task: " + unmapped, unmapped);
        } finally {
            if (handle != 0) {
                Native.closeTask(handle, CriticalTask.LONGEST_CLOSING_NANOS);
            }
            if (program != null) {
                NativeFiles.removeProgram(program);
            }
        }
    }
}
