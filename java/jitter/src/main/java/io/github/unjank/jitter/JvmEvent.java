package io.github.unjank.jitter;

/**
 * Something that the JVM did.
 *
 * @param kind what kind
 * @param begin when it began, as of {@link System#nanoTime()}
 * @param duration nanoseconds
 * @param name what the JVM calls it
 */
record JvmEvent(Kind kind, long begin, long duration, String name) {
    /** Kinds of events; the numbers are those of the file. */
    enum Kind {
        /** The collector stops all Java threads. */
        PAUSE(1),
        /** The VM brings them to a safepoint and keeps them there. */
        SAFEPOINT(2),
        /** The collector works beside them. */
        CONCURRENT(3);

        final byte number;

        Kind(int number) {
            this.number = (byte) number;
        }
    }
}
