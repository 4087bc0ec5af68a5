package io.github.unjank.jitter;

import io.github.unjank.rt.RtThread;

/** Periodic wake-ups, whose thread is there and warmed up, and which have not begun. */
interface WakeUps extends AutoCloseable {
    /** The first wake-up is so long after the start, so that the thread sleeps before it. */
    long LEAD_NANOS = 20_000_000;

    /** The name of the thread that wakes, by which others find it. */
    String THREAD = "meas";

    /** Lets the wake-ups begin. */
    void go();

    /** Waits for their end, at most so long. Whether it has come. */
    boolean await(long millis) throws InterruptedException;

    @Override
    void close();

    /** Those that the options ask for. */
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

    /** Gives the calling thread the priority that the options ask for. */
    static void raise(Options options) {
        if (options.variant() == Options.Variant.THREAD) {
            RtThread.setPriority(Thread.currentThread(), RtThread.ORDINARY + options.priority());
        }
    }
}
