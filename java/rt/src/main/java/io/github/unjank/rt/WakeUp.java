package io.github.unjank.rt;

import java.nio.ByteBuffer;

/**
 * The report of one wake-up of a {@link CriticalTask} without a job. The object can be reused.
 */
public final class WakeUp {
    static final int BYTES = 32;

    private long period;
    private long due;
    private long woken;
    private long missed;

    /** Creates an empty report. */
    public WakeUp() {}

    /** Reads a report: the fields in order, little-endian. */
    void read(ByteBuffer report) {
        period = report.getLong(0);
        due = report.getLong(8);
        woken = report.getLong(16);
        missed = report.getLong(24);
    }

    /**
     * The number of the period, from 0, missed periods included.
     *
     * @return the number
     */
    public long period() {
        return period;
    }

    /**
     * The beginning of the period, as of {@link System#nanoTime()}.
     *
     * @return nanoseconds
     */
    public long due() {
        return due;
    }

    /**
     * Time of the task's clock read after the wake-up.
     *
     * @return nanoseconds, as of {@link System#nanoTime()}
     */
    public long woken() {
        return woken;
    }

    /**
     * The wake-up latency.
     *
     * @return nanoseconds
     */
    public long lateness() {
        return woken - due;
    }

    /**
     * Further periods that had passed by then.
     *
     * @return their number
     */
    public long missed() {
        return missed;
    }
}
