package io.github.unjank.jitter;

import org.HdrHistogram.Histogram;

import java.util.Arrays;
import java.util.Locale;

/**
 * The wake-up latency of each period. Recording allocates nothing.
 *
 * <p>A period is missed if it had passed when the thread woke for an earlier one. So a stop of 60
 * periods is one late wake-up and 59 missed periods with every way of waking, even if a timer calls
 * its task 60 times in a row.
 */
final class Lateness {
    /** The latency of a missed period. */
    static final long MISSED = -1;

    private final long[] nanos;
    private final long period;
    private long first;
    private int next;
    private volatile boolean complete;

    Lateness(int periods, long periodNanos) {
        nanos = new long[periods];
        Arrays.fill(nanos, MISSED);
        period = periodNanos;
    }

    /** Sets the moment of the first wake-up, as of {@link System#nanoTime()}. */
    void startAt(long firstDue) {
        first = firstDue;
        next = 0;
        complete = false;
    }

    /** The moment at which the wake-up of a period is due, as of {@link System#nanoTime()}. */
    long due(int number) {
        return first + number * period;
    }

    /**
     * Records that the thread woke for a period; returns the next period that has not passed. A
     * missed period stays missed.
     */
    int woke(int number, long now) {
        if (number < next || number >= nanos.length) {
            return next;
        }
        long late = now - due(number);
        note(number, late);
        // The division costs more than all the rest, and is rarely needed.
        long missed = late < period ? 0 : late / period;
        next = (int) Math.min(nanos.length, number + 1 + missed);
        if (next == nanos.length) {
            complete = true;
        }
        return next;
    }

    /** Records the latency of a wake-up. */
    void note(int number, long late) {
        // A timer's clock may be ahead of this one by its resolution.
        nanos[number] = Math.max(0, late);
    }

    /** Whether a Java thread has woken for the last period; visible to all threads. */
    boolean isComplete() {
        return complete;
    }

    int periods() {
        return nanos.length;
    }

    long periodNanos() {
        return period;
    }

    long at(int number) {
        return nanos[number];
    }

    /** A line of text: percentiles of the wake-ups, and the missed periods. */
    String summary() {
        Histogram histogram = new Histogram(3);
        long missed = 0;
        long worst = 0;
        for (long late : nanos) {
            if (late == MISSED) {
                missed++;
            } else {
                histogram.recordValue(late);
                worst = Math.max(worst, late);
            }
        }
        return String.format(
                Locale.ROOT,
                "%d wake-ups, %d missed periods; late by p50 %.3f ms, p99 %.3f ms, p99.9 %.3f ms,"
                        + " worst %.3f ms",
                nanos.length - missed,
                missed,
                histogram.getValueAtPercentile(50) / 1e6,
                histogram.getValueAtPercentile(99) / 1e6,
                histogram.getValueAtPercentile(99.9) / 1e6,
                worst / 1e6);
    }
}
