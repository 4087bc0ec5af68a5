package io.github.unjank.jitter;

import java.nio.file.Path;
import java.util.Locale;

/**
 * What is measured, and how.
 *
 * @param wakeups how many periods
 * @param periodNanos time between two wake-ups
 * @param way how a thread of Java asks for its wake-ups
 * @param garbageThreads threads that make garbage
 * @param variant what is real-time
 * @param priority of {@code SCHED_FIFO}, for variants that have one
 * @param liveBytes what the threads that make garbage keep, in all
 * @param load what becomes garbage
 * @param out the file that is written
 */
record Options(
        int wakeups,
        long periodNanos,
        Way way,
        int garbageThreads,
        Variant variant,
        int priority,
        long liveBytes,
        Load load,
        Path out) {

    static final String HELP =
            """
            Usage: java [JVM options] -jar unjank-jitter.jar --out FILE [options]

            Wakes periodically while other threads make garbage, and writes down how late.
            Says `ready PID` when its threads are there (meas, load-0, ...), waits for a line
            `go`, and says `done` when FILE is written.

              --out FILE              where the result goes
              --count N               periods [120000]
              --period-us P           microseconds between two wake-ups [1000]
              --way timer|park        java.util.TimerTask, or parkNanos to absolute moments [park]
              --garbage none|N        threads that make garbage [none]
              --heap-live-mib M       MiB that they keep alive in all [64]
              --load unreferenced|replacing
                                      garbage is what nobody ever referred to, or some of it
                                      what was kept before [unreferenced]
              --variant normal|thread|native|process
                                      who wakes: a thread of Java, the same as SCHED_FIFO,
                                      a native thread, a process of its own [normal]
              --priority N            1 to 99 of SCHED_FIFO, for all but normal [80]
              --self-test             prints what recording a wake-up costs
              --help                  prints this

            Example:
              echo go | java -XX:+UseSerialGC -Xmx256m -jar unjank-jitter.jar \\
                  --count 10000 --garbage 2 --out run.ujj
            """;

    /** How a thread of Java asks for its wake-ups. */
    enum Way {
        TIMER,
        PARK
    }

    /** What becomes garbage. */
    enum Load {
        /** Objects that die at once, as Higashiyama, Masuda and Ochiai make them. */
        UNREFERENCED,
        /** Also what was kept: one object in 64 takes the place of a kept one. */
        REPLACING
    }

    /** Who wakes. */
    enum Variant {
        NORMAL,
        THREAD,
        NATIVE,
        PROCESS
    }

    /** Options that cannot be. */
    static final class UsageException extends IllegalArgumentException {
        private static final long serialVersionUID = 1L;

        UsageException(String message) {
            super(message);
        }
    }

    static Options parse(String... arguments) {
        int wakeups = 120_000;
        long periodMicros = 1_000;
        Way way = Way.PARK;
        int garbageThreads = 0;
        Variant variant = Variant.NORMAL;
        int priority = 80;
        long liveMib = 64;
        Load load = Load.UNREFERENCED;
        Path out = null;
        for (int at = 0; at < arguments.length; at += 2) {
            String option = arguments[at];
            if (at + 1 == arguments.length) {
                throw new UsageException("the option " + option + " is unknown, or has no value");
            }
            String value = arguments[at + 1];
            switch (option) {
                case "--count" -> wakeups = (int) number(option, value, 1, 1 << 24);
                case "--period-us" -> periodMicros = number(option, value, 10, 60_000_000);
                case "--way" -> way = choice(option, value, Way.values());
                case "--garbage" ->
                        garbageThreads =
                                value.equals("none") ? 0 : (int) number(option, value, 0, 1_024);
                case "--variant" -> variant = choice(option, value, Variant.values());
                case "--priority" -> priority = (int) number(option, value, 1, 99);
                case "--heap-live-mib" -> liveMib = number(option, value, 0, 1 << 20);
                case "--load" -> load = choice(option, value, Load.values());
                case "--out" -> out = Path.of(value);
                default -> throw new UsageException("there is no option " + option);
            }
        }
        if (out == null) {
            throw new UsageException("--out FILE is missing");
        }
        boolean inJava = variant == Variant.NORMAL || variant == Variant.THREAD;
        if (way == Way.TIMER && inJava && periodMicros % 1_000 != 0) {
            throw new UsageException(
                    "java.util.Timer counts in milliseconds: --period-us " + periodMicros);
        }
        return new Options(
                wakeups,
                periodMicros * 1_000,
                way,
                garbageThreads,
                variant,
                priority,
                liveMib << 20,
                load,
                out);
    }

    private static long number(String option, String value, long least, long most) {
        try {
            long number = Long.parseLong(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException notANumber) {
            // Said below, as every other value that cannot be.
        }
        throw new UsageException(
                option + " is \"" + value + "\", not a number from " + least + " to " + most);
    }

    private static <E extends Enum<E>> E choice(String option, String value, E[] all) {
        StringBuilder names = new StringBuilder();
        for (E one : all) {
            String name = one.name().toLowerCase(Locale.ROOT);
            if (name.equals(value)) {
                return one;
            }
            names.append(names.isEmpty() ? "" : ", ").append(name);
        }
        throw new UsageException(option + " is \"" + value + "\", not one of " + names);
    }
}
