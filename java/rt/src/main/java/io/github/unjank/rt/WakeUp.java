package io.github.unjank.rt;

import java.nio.ByteBuffer;

/**
 * One wake-up of a {@link CriticalTask} without a job, as it has reported it. It can be used again
 * and again.
 */
public final class WakeUp {
    static final int BYTES = 32;

    private long period;
    private long due;
    private long woken;
    private long missed;

    /** Makes an empty one. */
    public WakeUp() {}

    /** Takes over a report: the fields in order, little-endian. */
    void read(ByteBuffer report) {
        period = report.getLong(0);
        due = report.getLong(8);
        woken = report.getLong(16);
        missed = report.getLong(24);
    }

    /**
     * The number of the period, from 0; missed ones are counted.
     *
     * @return the number
     */
    public long period() {
        return period;
    }

    /**
     * When the task was to wake, as of {@link System#nanoTime()}.
     *
     * @return nanoseconds
     */
    public long due() {
        return due;
    }

    /**
     * When it read the clock.
     *
     * @return nanoseconds, as of {@link System#nanoTime()}
     */
    public long woken() {
        return woken;
    }

    /**
     * How late it was.
     *
     * @return nanoseconds
     */
    public long lateness() {
        return woken - due;
    }

    /**
     * Periods after this one that had passed as well by then.
     *
     * @return their number
     */
    public long missed() {
        return missed;
    }
}
