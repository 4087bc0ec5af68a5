package io.github.unjank.jitter;

import io.github.unjank.rt.RtThread;

/** Periodic wake-ups. Their thread exists and is warmed up before they begin. */
interface WakeUps extends AutoCloseable {
    /** Time from the start to the first wake-up, so that the thread sleeps before it. */
    long LEAD_NANOS = 20_000_000;

    /** The name of the thread that wakes; {@code unjank} finds it by this name. */
    String THREAD = "meas";

    /** Starts the wake-ups. */
    void go();

    /** Waits at most this long for their end; returns whether they have ended. */
    boolean await(long millis) throws InterruptedException;

    @Override
    void close();

    /** Prepares the wake-ups of the options. */
    static WakeUps of(Options options, Lateness lateness) throws InterruptedException {
        return switch (options.variant()) {
            case NATIVE, PROCESS -> TaskWakeUps.prepare(options, lateness);
            case NORMAL, THREAD ->
                    switch (options.way()) {
                        case PARK -> ParkedWakeUps.prepare(options, lateness);
                        case TIMER -> TimerWakeUps.prepare(options, lateness);
                    };
        };
    }

    /** Gives the calling thread the priority of the options. */
    static void raise(Options options) {
        if (options.variant() == Options.Variant.THREAD) {
            RtThread.setPriority(Thread.currentThread(), RtThread.ORDINARY + options.priority());
        }
    }
}
