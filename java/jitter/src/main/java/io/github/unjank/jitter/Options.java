package io.github.unjank.jitter;

import java.nio.file.Path;
import java.util.Locale;

/**
 * The command line.
 *
 * @param wakeups number of periods
 * @param periodNanos time between two wake-ups
 * @param way how a Java thread waits
 * @param garbageThreads threads that make garbage
 * @param variant the thread that wakes
 * @param priority of {@code SCHED_FIFO}, for variants that have one
 * @param liveBytes live set of all threads that make garbage
 * @param load the objects that become garbage
 * @param out the file of the result
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

            Wakes periodically while other threads make garbage, and records how late.
            Prints `ready PID` when its threads exist (meas, load-0, ...), waits for a line
            `go`, and prints `done` when FILE is written.

              --out FILE              file for the result
              --count N               number of periods [120000]
              --period-us P           microseconds between two wake-ups [1000]
              --way timer|park        java.util.TimerTask, or parkNanos to absolute moments [park]
              --garbage none|N        threads that make garbage [none]
              --heap-live-mib M       live set of all these threads, in MiB [64]
              --load unreferenced|replacing
                                      garbage is objects that were never referenced, or also
                                      some of the live set [unreferenced]
              --variant normal|thread|native|process
                                      what wakes: a Java thread, a Java thread as SCHED_FIFO,
                                      a native thread, a process of its own [normal]
              --priority N            1 to 99 of SCHED_FIFO, for all but normal [80]
              --self-test             print the cost of recording a wake-up
              --help                  print this help

            Example:
              echo go | java -XX:+UseSerialGC -Xmx256m -jar unjank-jitter.jar \\
                  --count 10000 --garbage 2 --out run.ujj
            """;

    /** The ways in which a Java thread waits. */
    enum Way {
        TIMER,
        PARK
    }

    /** The objects that become garbage. */
    enum Load {
        /** Objects that were never referenced, as in Higashiyama, Masuda and Ochiai. */
        UNREFERENCED,
        /** Also live objects: one new object in 64 replaces one. */
        REPLACING
    }

    /** The thread that wakes. */
    enum Variant {
        NORMAL,
        THREAD,
        NATIVE,
        PROCESS
    }

    /** Invalid options. */
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
                throw new UsageException("the option " + option + " is unknown or has no value");
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
                    "--period-us "
                            + periodMicros
                            + " is not a multiple of 1000: java.util.Timer counts in milliseconds");
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
            // Reported below, like any other invalid value.
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
