package io.github.unjank.rt;

/** The native methods. {@code crates/jni/src/exports.rs} documents and implements them. */
final class Native {
    static {
        NativeFiles.loadLibrary();
    }

    private Native() {}

    /** The number of the calling thread: {@code gettid(2)}. */
    static native int threadId();

    /** CLOCK_MONOTONIC in nanoseconds, read without the JVM. */
    static native long clock();

    /** SCHED_FIFO for a thread by its number; 0 is the caller. */
    static native void beRealtime(int thread, int priority, long longestRun, boolean force);

    /** SCHED_OTHER for a thread by its number; 0 is the caller. */
    static native void beOrdinary(int thread);

    /** The policy of a thread by its number, such as {@code fifo:80} or {@code other}. */
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

    /** The descriptor of a task's shared memory. */
    static native int taskDescriptor(long task);

    /** The process that a task has to itself, or 0. */
    static native int taskProcess(long task);

    static native boolean taskAlive(long task);

    /** Ends a task and waits for that; whether it has ended. */
    static native boolean closeTask(long task, long longest);
}
