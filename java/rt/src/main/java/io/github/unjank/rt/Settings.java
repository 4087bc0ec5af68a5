package io.github.unjank.rt;

/** System properties of the library, read when they are needed. */
final class Settings {
    private static final long LONGEST_RUN_MS = 1_000;

    private Settings() {}

    /** The longest time that a real-time thread may compute without a sleep, in nanoseconds. */
    static long longestRunNanos() {
        String property = "unjank.rt.longest.run.ms";
        String text = System.getProperty(property);
        if (text == null) {
            return LONGEST_RUN_MS * 1_000_000;
        }
        try {
            long millis = Long.parseLong(text.trim());
            if (millis > 0 && millis <= Long.MAX_VALUE / 1_000_000) {
                return millis * 1_000_000;
            }
        } catch (NumberFormatException notANumber) {
            // Reported below, like any other invalid value.
        }
        throw new IllegalArgumentException(
                property + " is \"" + text + "\", not a number of milliseconds above zero");
    }

    /** Whether real-time priority is allowed on a machine without throttling. */
    static boolean force() {
        return Boolean.getBoolean("unjank.rt.force");
    }
}
