package io.github.unjank.rt;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Waits for a condition without notification: a flag, the head of a ring, a word that another
 * process writes.
 *
 * <p>It spins for as long as that is expected to cost less than parking, and then sleeps, 50 µs at
 * first and up to 1 ms, so it never keeps a CPU busy. It learns how long waits last, so use one
 * object for each place in the program. Any number of threads may wait with it at the same time.
 *
 * <pre>{@code
 * private static final SpinWait FILLED = new SpinWait();
 *
 * FILLED.until(() -> ring.head() != seen);
 * if (!FILLED.until(() -> ring.head() != seen, Duration.ofMillis(5))) {
 *     giveUp();
 * }
 * }</pre>
 *
 * <p>The waiting thread evaluates the condition often. It should be short, and read a volatile
 * variable, or use {@code VarHandle.getAcquire} for a variable that another thread sets with {@code
 * setRelease}. If that thread can notify, {@link java.util.concurrent} wakes sooner.
 *
 * <p>This class is pure Java and does not check the policy of a thread, so a {@linkplain RtThread
 * real-time} thread spins too, for at most 50 µs before it sleeps. The first object of a JVM takes
 * a few milliseconds to measure the cost of parking ({@link #parkCost()}).
 */
public final class SpinWait {
    /** If a check is this much later than the last one, the thread was switched out. */
    private static final long SLIP_NANOS = 20_000;

    private static final SpinPolicy.Circumstances SWITCHED_OUT =
            new SpinPolicy.Circumstances(false, true, false);

    /** The cost of parking, in nanoseconds. */
    private final long park;

    /** Waits that two threads add at once may count as one. */
    private volatile SpinPolicy.Expected expected = SpinPolicy.Expected.UNKNOWN;

    /** Creates a wait of unknown length. */
    public SpinWait() {
        this(ParkCost.nanos());
    }

    SpinWait(long parkNanos) {
        park = parkNanos;
    }

    /**
     * The time on this machine from the wake-up call until a parked thread runs. The first call
     * measures it for 1.5 ms with a temporary thread. The result is limited to 1 to 50 µs.
     *
     * @return between 1 and 50 µs
     */
    public static Duration parkCost() {
        return Duration.ofNanos(ParkCost.nanos());
    }

    /**
     * Waits until a condition is true.
     *
     * @param condition what to wait for
     * @throws InterruptedException if the thread is interrupted and would have to sleep; spinning
     *     is not interrupted
     */
    public void until(BooleanSupplier condition) throws InterruptedException {
        await(condition, Long.MAX_VALUE);
    }

    /**
     * Waits until a condition is true, or the time has passed.
     *
     * @param condition what to wait for
     * @param atMost how long to wait at most
     * @return the last value of the condition
     * @throws InterruptedException as {@link #until(BooleanSupplier)}
     */
    public boolean until(BooleanSupplier condition, Duration atMost) throws InterruptedException {
        return await(condition, nanos(atMost));
    }

    private boolean await(BooleanSupplier condition, long atMost) throws InterruptedException {
        if (condition.getAsBoolean()) {
            return true;
        }
        long begun = System.nanoTime();
        return spin(condition, begun, atMost) || nap(condition, begun, atMost);
    }

    private boolean spin(BooleanSupplier condition, long begun, long atMost) {
        SpinPolicy policy = new SpinPolicy(Math.min(expected.budget(park, false), atMost));
        long last = begun;
        while (true) {
            long now = System.nanoTime();
            boolean switchedOut = now - last > SLIP_NANOS;
            last = now;
            int pauses =
                    policy.pausesBeforeLooks(
                            now - begun, switchedOut ? SWITCHED_OUT : SpinPolicy.Circumstances.NONE);
            if (pauses == 0) {
                return false;
            }
            for (int look = 0; look < SpinPolicy.LOOKS; look++) {
                for (int pause = 0; pause < pauses; pause++) {
                    Thread.onSpinWait();
                }
                if (condition.getAsBoolean()) {
                    learn(System.nanoTime() - begun);
                    return true;
                }
            }
        }
    }

    private boolean nap(BooleanSupplier condition, long begun, long atMost)
            throws InterruptedException {
        for (long naps = 0; ; naps++) {
            long waited = System.nanoTime() - begun;
            long left = atMost - waited;
            if (left <= 0) {
                return condition.getAsBoolean();
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            LockSupport.parkNanos(this, Math.min(SpinPolicy.napNanos(naps), left));
            if (condition.getAsBoolean()) {
                // The nap itself does not count. Otherwise, after a few long waits, each short wait
                // would look too long to spin.
                learn(waited);
                return true;
            }
        }
    }

    private void learn(long waited) {
        expected = expected.with(waited);
    }

    /** The expected length of a wait. */
    SpinPolicy.Expected expected() {
        return expected;
    }

    /** Converts to nanoseconds; a length that does not fit is unlimited. */
    private static long nanos(Duration length) {
        try {
            return length.toNanos();
        } catch (ArithmeticException tooLong) {
            return length.isNegative() ? 0 : Long.MAX_VALUE;
        }
    }
}
