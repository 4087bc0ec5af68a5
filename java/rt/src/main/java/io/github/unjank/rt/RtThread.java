package io.github.unjank.rt;

import java.util.Objects;

/**
 * Sets real-time priorities of threads of this JVM.
 *
 * <p>{@link #setPriority(Thread, int)} extends the range of {@link Thread#setPriority(int)} as
 * Higashiyama, Masuda and Ochiai did in Android's own class: 100 to 199 mean the fixed priorities
 * of Linux, {@code SCHED_FIFO} with 0 to 99.
 *
 * <pre>{@code
 * RtThread.setPriority(Thread.currentThread(), 180);   // SCHED_FIFO 80
 * try {
 *     control();
 * } finally {
 *     RtThread.setPriority(Thread.currentThread(), 100);   // SCHED_OTHER again
 * }
 * }</pre>
 *
 * <p>Three guards keep a real-time thread from blocking the machine:
 *
 * <ul>
 *   <li>It must sleep at least once a second, or the kernel ends the process with {@code SIGXCPU}
 *       ({@code RLIMIT_RTTIME}). The limit holds for the whole process and stays; the property
 *       {@code unjank.rt.longest.run.ms} sets another.
 *   <li>Threads that it starts begin as {@code SCHED_OTHER} ({@code SCHED_RESET_ON_FORK}).
 *   <li>On a machine without real-time throttling ({@code kernel.sched_rt_runtime_us = -1}),
 *       real-time priority is refused unless the property {@code unjank.rt.force} is {@code true}.
 * </ul>
 *
 * <p>A real-time thread still stops at every safepoint, and waits there for collector threads,
 * which may have a lower priority. Code that must never wait for them belongs in a {@link
 * CriticalTask}.
 */
public final class RtThread {
    /** Returns a thread to {@code SCHED_OTHER}. */
    public static final int ORDINARY = 100;

    /** The highest priority, {@code SCHED_FIFO} 99. */
    public static final int MAX_REALTIME = 199;

    private RtThread() {}

    /**
     * Sets the priority of a thread.
     *
     * <p>1 to 10 do what {@link Thread#setPriority(int)} does; a real-time thread stays real-time.
     * 101 to 199 make the thread {@code SCHED_FIFO} with {@code priority - 100}; 100 returns it to
     * {@code SCHED_OTHER} with the nice value that it has.
     *
     * <p>A thread other than the caller is looked up in the JVM's own thread dump, which stops all
     * threads for a moment. It is better to call this method in the thread itself.
     *
     * @param thread a live platform thread
     * @param priority 1 to 10, or 100 to 199
     * @throws IllegalArgumentException for any other priority, and for a virtual thread above 10,
     *     which runs on a carrier thread and has no priority of its own
     * @throws IllegalThreadStateException if another thread was not started yet, or has ended
     * @throws UnsupportedOperationException if this JVM does not show the native number of another
     *     thread
     * @throws RealtimePermissionException without the privilege; the message says how to get it
     * @throws UnsatisfiedLinkError if the native library cannot be loaded; the message says why
     */
    public static void setPriority(Thread thread, int priority) {
        Objects.requireNonNull(thread, "thread");
        if (priority >= Thread.MIN_PRIORITY && priority <= Thread.MAX_PRIORITY) {
            thread.setPriority(priority);
            return;
        }
        if (priority < ORDINARY || priority > MAX_REALTIME) {
            throw new IllegalArgumentException(
                    "priority " + priority + " is neither 1 to 10 nor 100 to 199");
        }
        if (NativeThreads.isVirtual(thread)) {
            throw new IllegalArgumentException(
                    "a virtual thread cannot be real-time: it runs on a carrier thread");
        }
        if (thread == Thread.currentThread()) {
            set(0, priority);
            return;
        }
        set(NativeThreads.numberOf(thread), priority);
        if (!thread.isAlive()) {
            throw new IllegalThreadStateException(thread.getName() + " has ended");
        }
    }

    /**
     * Returns the number of the calling thread in Linux, as in {@code /proc/self/task}.
     *
     * @return the number, as of {@code gettid(2)}
     */
    public static int threadId() {
        return Native.threadId();
    }

    /**
     * Returns the current scheduling policy of the calling thread.
     *
     * @return {@code other}, {@code fifo:80}, {@code rr:10} …
     */
    public static String policy() {
        return Native.policy(0);
    }

    private static void set(int number, int priority) {
        if (priority == ORDINARY) {
            Native.beOrdinary(number);
        } else {
            Native.beRealtime(
                    number, priority - ORDINARY, Settings.longestRunNanos(), Settings.force());
        }
    }
}
