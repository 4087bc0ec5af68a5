package io.github.unjank.jitter;

import java.time.Instant;

/** Compares the wall clock with the clock of {@link System#nanoTime()}. */
final class WallClock {
    private static final int TRIES = 200;

    private WallClock() {}

    /**
     * Nanoseconds since 1970 at the zero of {@link System#nanoTime()}. Linux slews both clocks
     * alike, so this changes only when the wall clock is set.
     */
    static long aheadOfMonotonic() {
        long narrowest = Long.MAX_VALUE;
        long ahead = 0;
        for (int n = 0; n < TRIES; n++) {
            long before = System.nanoTime();
            Instant wall = Instant.now();
            long after = System.nanoTime();
            if (after - before < narrowest) {
                narrowest = after - before;
                ahead = nanos(wall) - (before + (after - before) / 2);
            }
        }
        return ahead;
    }

    /** Nanoseconds since 1970; valid until the year 2262. */
    static long nanos(Instant wall) {
        return Math.addExact(
                Math.multiplyExact(wall.getEpochSecond(), 1_000_000_000L), wall.getNano());
    }
}
