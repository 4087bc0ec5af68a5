package io.github.unjank.rt;

/** Native methods. {@code crates/jni/src/exports.rs} documents and implements them. */
final class Native {
    static {
        NativeFiles.loadLibrary();
    }

    private Native() {}

    /** Returns the number of the calling thread: {@code gettid(2)}. */
    static native int threadId();

    /** Reads CLOCK_MONOTONIC without the JVM, in nanoseconds. */
    static native long clock();

    /** Gives a thread SCHED_FIFO; 0 is the caller. */
    static native void beRealtime(int thread, int priority, long longestRun, boolean force);

    /** Gives a thread SCHED_OTHER; 0 is the caller. */
    static native void beOrdinary(int thread);

    /** Returns a thread's policy, such as {@code fifo:80} or {@code other}; 0 is the caller. */
    static native String policy(int thread);

    static native long openTask(
            String name,
            long period,
            long periods,
            int priority,
            long longestRun,
            boolean force,
            int slotsOut,
            int slotsIn,
            int message,
            String library,
            String symbol,
            String program);

    /** Returns the descriptor of a task's shared memory. */
    static native int taskDescriptor(long task);

    /** Returns the PID of a task's own process, or 0. */
    static native int taskProcess(long task);

    static native boolean taskAlive(long task);

    /** Ends a task and waits at most {@code longest} nanoseconds; returns whether it has ended. */
    static native boolean closeTask(long task, long longest);
}
