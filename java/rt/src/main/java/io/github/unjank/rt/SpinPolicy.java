package io.github.unjank.rt;

/**
 * How long to spin before parking: a pure decision, without threads and without a clock. {@link
 * SpinWait} does what it says; this is for loops that wait in their own way.
 *
 * <p>A wait is spun while that is expected to cost less than being parked and woken. What parking
 * costs is measured on the machine ({@link SpinWait#parkCost()}), how long a wait lasts is learned
 * where it happens ({@link Expected}), and some circumstances forbid spinning at all ({@link
 * Circumstances}). Between two looks at the condition lies about a sixteenth of the time waited so
 * far.
 *
 * <p>It decides as {@code ladder.rs} of the Rust library {@code unjank-backoff}: the tests of both
 * read the same table of cases, {@code crates/backoff/fixtures/spin_policy.json}.
 *
 * <p>An object is one wait of one thread.
 */
public final class SpinPolicy {
    /** Looks between two decisions, which take longer than a look. */
    static final int LOOKS = 8;

    /** One sixteenth of the pauses so far lie between two looks. */
    private static final int BETWEEN_LOOKS = 16;

    /** The longest spin where waits are known to outlast parking. */
    private static final long GLIMPSE_NANOS = 1_000;

    /** Added to twice the expected wait: a hand-over between CPUs and the scatter of short waits. */
    private static final long MARGIN_NANOS = 2_000;

    /** The Rust library counts in 32 bits: 4.3 s are as good as for ever. */
    private static final long LONGEST = 0xffff_ffffL;

    private static final long SHORTEST_NAP_NANOS = 50_000;
    private static final long LONGEST_NAP_NANOS = 1_000_000;

    private long budget;
    private long pauses;

    /**
     * A spin that has not begun.
     *
     * @param budgetNanos how long it may last, in nanoseconds
     */
    public SpinPolicy(long budgetNanos) {
        this.budget = budgetNanos;
    }

    /** What to do until the next look at the condition. */
    public sealed interface Step permits Look, Park {}

    /**
     * Look at the condition.
     *
     * @param looks how often
     * @param pauses how many {@link Thread#onSpinWait()} before each look
     */
    public record Look(int looks, int pauses) implements Step {}

    /** Give the CPU away, until somebody wakes the thread or it wakes by itself. */
    public record Park() implements Step {}

    /**
     * What speaks against spinning, whatever it costs.
     *
     * @param realTime the thread has a real-time policy ({@link RtThread}): whom it waits for may
     *     need its CPU, and would not get it
     * @param switchedOut the thread was not on a CPU since its last look: CPUs are short, and most
     *     likely whom it waits for lacks one
     * @param othersParked others have parked here already
     */
    public record Circumstances(boolean realTime, boolean switchedOut, boolean othersParked) {
        /** Nothing speaks against it. */
        public static final Circumstances NONE = new Circumstances(false, false, false);
    }

    /**
     * How long waits last at one place in a program: a mean in which the last wait counts for a
     * quarter.
     *
     * @param nanos nanoseconds, up to 4.3 s; 0 is not known
     */
    public record Expected(long nanos) {
        /** Nothing is known. */
        public static final Expected UNKNOWN = new Expected(0);

        /**
         * Checks that it is a length.
         *
         * @param nanos nanoseconds, up to 4.3 s
         */
        public Expected {
            if (nanos < 0 || nanos > LONGEST) {
                throw new IllegalArgumentException(nanos + " ns are not expected");
            }
        }

        /**
         * With one more wait.
         *
         * @param waitNanos how long it lasted, in nanoseconds
         * @return the new mean, which is known
         */
        public Expected with(long waitNanos) {
            long wait = Math.min(waitNanos, LONGEST);
            long mean = nanos == 0 ? wait : nanos - nanos / 4 + wait / 4;
            return new Expected(Math.max(mean, 1));
        }

        /**
         * How long to spin at most. Unknown waits get what parking costs; short ones twice what is
         * expected, because who waits for longer waits for a thread that has lost its CPU; those
         * that are expected to outlast parking get a glimpse; and under a squeeze all get an eighth.
         *
         * @param parkNanos what being parked and woken takes, in nanoseconds
         * @param squeezed the CPU quota is being used up, or a hypervisor takes CPU time away:
         *     spinning is paid for with work
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
     * The next step of a wait that is not over.
     *
     * @param waitedNanos how long it has lasted, in nanoseconds
     * @param seen what speaks against spinning
     * @return what to do
     */
    public Step step(long waitedNanos, Circumstances seen) {
        int pauses = pausesBeforeLooks(waitedNanos, seen);
        return pauses == 0 ? new Park() : new Look(LOOKS, pauses);
    }

    /** As {@link #step}, without an object: the pauses before each look, or 0 to park. */
    int pausesBeforeLooks(long waitedNanos, Circumstances seen) {
        if (seen.realTime || seen.switchedOut || seen.othersParked || waitedNanos >= budget) {
            return 0;
        }
        int next = (int) (1 + pauses / BETWEEN_LOOKS);
        pauses = Math.min(pauses + (long) next * LOOKS, LONGEST);
        return next;
    }

    /**
     * Makes the spin last for so long at least.
     *
     * @param budgetNanos nanoseconds
     */
    public void extend(long budgetNanos) {
        budget = Math.max(budget, budgetNanos);
    }

    /**
     * How many pauses were ordered so far.
     *
     * @return their number, up to 2<sup>32</sup> - 1
     */
    public long pauses() {
        return pauses;
    }

    /**
     * How long to sleep where nobody will wake the thread: 50 µs, then twice as long each time, to
     * 1 ms.
     *
     * @param napsBefore how often it has slept already
     * @return nanoseconds
     */
    public static long napNanos(long napsBefore) {
        return Math.min(SHORTEST_NAP_NANOS << Math.min(napsBefore, 5), LONGEST_NAP_NANOS);
    }
}
