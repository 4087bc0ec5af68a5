package io.github.unjank.rt;

/**
 * Decides how long to spin before parking, without threads and without a clock. {@link SpinWait}
 * applies it; use this class directly in loops that wait in their own way.
 *
 * <p>A thread spins while that is expected to cost less than parking and being woken. The cost of
 * parking is measured on the machine ({@link SpinWait#parkCost()}). The expected length of a wait
 * is learned at each place in the program ({@link Expected}). Some circumstances forbid spinning
 * ({@link Circumstances}). The time between two checks of the condition is about a sixteenth of the
 * time waited so far.
 *
 * <p>It makes the same decisions as the spin policy of the Rust library {@code unjank-backoff}: the
 * tests of both read the same table of cases, {@code crates/backoff/fixtures/spin_policy.json}.
 *
 * <p>An object stands for one wait of one thread.
 */
public final class SpinPolicy {
    /** Checks between two decisions, which take longer than a check. */
    static final int LOOKS = 8;

    /** Between two checks, there is one pause for this many pauses so far. */
    private static final int BETWEEN_LOOKS = 16;

    /** The longest spin if waits are known to take longer than parking. */
    private static final long GLIMPSE_NANOS = 1_000;

    /** Added to twice the expected wait, for the transfer between CPUs and the scatter of waits. */
    private static final long MARGIN_NANOS = 2_000;

    /** The largest length, 4.3 s, because the Rust library counts in 32 bits. */
    private static final long LONGEST = 0xffff_ffffL;

    private static final long SHORTEST_NAP_NANOS = 50_000;
    private static final long LONGEST_NAP_NANOS = 1_000_000;

    private long budget;
    private long pauses;

    /**
     * Creates the policy of one wait.
     *
     * @param budgetNanos how long to spin at most, in nanoseconds
     */
    public SpinPolicy(long budgetNanos) {
        this.budget = budgetNanos;
    }

    /** A step of a waiting thread until its next check. */
    public sealed interface Step permits Look, Park {}

    /**
     * Check the condition.
     *
     * @param looks number of checks
     * @param pauses number of {@link Thread#onSpinWait()} calls before each check
     */
    public record Look(int looks, int pauses) implements Step {}

    /** Release the CPU until the thread is woken, or wakes by itself. */
    public record Park() implements Step {}

    /**
     * Reasons not to spin, whatever the cost.
     *
     * @param realTime the thread has a real-time policy ({@link RtThread}), so the thread that it
     *     waits for may never get its CPU
     * @param switchedOut the thread lost its CPU since its last check: there are more threads than
     *     CPUs, and most likely the thread that it waits for has none
     * @param othersParked other threads have already parked here
     */
    public record Circumstances(boolean realTime, boolean switchedOut, boolean othersParked) {
        /** No reason. */
        public static final Circumstances NONE = new Circumstances(false, false, false);
    }

    /**
     * The expected length of a wait at one place in a program: a moving mean in which the last wait
     * has the weight 1/4.
     *
     * @param nanos nanoseconds, up to 4.3 s; 0 is unknown
     */
    public record Expected(long nanos) {
        /** No wait is known. */
        public static final Expected UNKNOWN = new Expected(0);

        /**
         * Checks the length.
         *
         * @param nanos nanoseconds, up to 4.3 s
         */
        public Expected {
            if (nanos < 0 || nanos > LONGEST) {
                throw new IllegalArgumentException(nanos + " ns is not 0 to " + LONGEST + " ns");
            }
        }

        /**
         * Adds one wait.
         *
         * @param waitNanos its length in nanoseconds
         * @return the new mean, never unknown
         */
        public Expected with(long waitNanos) {
            long wait = Math.min(waitNanos, LONGEST);
            long mean = nanos == 0 ? wait : nanos - nanos / 4 + wait / 4;
            return new Expected(Math.max(mean, 1));
        }

        /**
         * The longest time to spin.
         *
         * <ul>
         *   <li>An unknown wait: the cost of parking.
         *   <li>A short wait: twice the expected length and 2 µs. A wait longer than that is most
         *       likely for a thread that has lost its CPU.
         *   <li>A wait expected to take longer than parking: 1 µs.
         *   <li>If squeezed, an eighth of that.
         * </ul>
         *
         * @param parkNanos the cost of parking and being woken, in nanoseconds
         * @param squeezed the CPU quota is nearly used up, or a hypervisor takes CPU time away, so
         *     spinning delays other work
         * @return nanoseconds
         */
        public long budget(long parkNanos, boolean squeezed) {
            long budget;
            if (nanos == 0) {
                budget = parkNanos;
            } else if (nanos > parkNanos) {
                budget = Math.min(GLIMPSE_NANOS, parkNanos);
            } else {
                budget = Math.min(nanos * 2 + MARGIN_NANOS, parkNanos);
            }
            return squeezed ? budget / 8 : budget;
        }
    }

    /**
     * Decides the next step of a wait.
     *
     * @param waitedNanos its length so far, in nanoseconds
     * @param seen reasons not to spin
     * @return what to do
     */
    public Step step(long waitedNanos, Circumstances seen) {
        int pauses = pausesBeforeLooks(waitedNanos, seen);
        return pauses == 0 ? new Park() : new Look(LOOKS, pauses);
    }

    /** Like {@link #step} without an object: the pauses before each check, or 0 to park. */
    int pausesBeforeLooks(long waitedNanos, Circumstances seen) {
        if (seen.realTime || seen.switchedOut || seen.othersParked || waitedNanos >= budget) {
            return 0;
        }
        int next = (int) (1 + pauses / BETWEEN_LOOKS);
        pauses = Math.min(pauses + (long) next * LOOKS, LONGEST);
        return next;
    }

    /**
     * Extends the spin to at least this length.
     *
     * @param budgetNanos nanoseconds
     */
    public void extend(long budgetNanos) {
        budget = Math.max(budget, budgetNanos);
    }

    /**
     * Counts the pauses of all steps so far.
     *
     * @return their number, up to 2<sup>32</sup> - 1
     */
    public long pauses() {
        return pauses;
    }

    /**
     * The length of a sleep if no thread will wake this one: 50 µs, doubled each time up to 1 ms.
     *
     * @param napsBefore number of sleeps so far
     * @return nanoseconds
     */
    public static long napNanos(long napsBefore) {
        return Math.min(SHORTEST_NAP_NANOS << Math.min(napsBefore, 5), LONGEST_NAP_NANOS);
    }
}
