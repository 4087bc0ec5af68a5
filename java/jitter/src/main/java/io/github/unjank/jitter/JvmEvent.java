package io.github.unjank.jitter;

/**
 * A pause, a safepoint or a concurrent phase.
 *
 * @param kind the kind of event
 * @param begin when it began, as of {@link System#nanoTime()}
 * @param duration nanoseconds
 * @param name the JVM's name for it
 */
record JvmEvent(Kind kind, long begin, long duration, String name) {
    /** Kinds of events, with their numbers in the file. */
    enum Kind {
        /** The collector stops all Java threads. */
        PAUSE(1),
        /** The VM stops them at a safepoint. */
        SAFEPOINT(2),
        /** The collector works beside running Java threads. */
        CONCURRENT(3);

        final byte number;

        Kind(int number) {
            this.number = (byte) number;
        }
    }
}
