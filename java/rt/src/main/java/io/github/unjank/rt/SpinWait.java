package io.github.unjank.rt;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Waits for a condition of which nobody tells: a flag, the head of a ring, a word that another
 * process writes.
 *
 * <p>It spins for as long as that is expected to cost less than parking, and then sleeps, 50 µs at
 * first and 1 ms at last, so it never burns a CPU. It learns how long waits last, so keep one object
 * for one place in the program; any number of threads may wait with it at the same time.
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
 * <p>The condition is evaluated often, by the waiting thread. It should be short, and read something
 * that is volatile, or {@code VarHandle.getAcquire} what another thread sets with {@code
 * setRelease}. Where whoever makes it true can tell, {@link java.util.concurrent} wakes sooner.
 *
 * <p>Pure Java: a thread is not asked for its policy, so a {@linkplain RtThread real-time} one spins,
 * too, for 50 µs at the very most, before it lets others run. The first object of a JVM takes some
 * milliseconds, to measure what parking costs ({@link #parkCost()}).
 */
public final class SpinWait {
    /** A look that comes so much later than the last: the thread was switched out in between. */
    private static final long SLIP_NANOS = 20_000;

    private static final SpinPolicy.Circumstances SWITCHED_OUT =
            new SpinPolicy.Circumstances(false, true, false);

    /** What parking costs, in nanoseconds. */
    private final long park;

    /** How long waits last; a lesson that two threads learn at once may count as one. */
    private volatile SpinPolicy.Expected expected = SpinPolicy.Expected.UNKNOWN;

    /** Knows nothing about its waits yet. */
    public SpinWait() {
        this(ParkCost.nanos());
    }

    SpinWait(long parkNanos) {
        park = parkNanos;
    }

    /**
     * What it takes on this machine until a parked thread runs after it was woken. Measured the
     * first time, in 1.5 ms and the start of a thread, which ends again; nothing beyond 1 to 50 µs is
     * believed.
     *
     * @return between 1 and 50 µs
     */
    public static Duration parkCost() {
        return Duration.ofNanos(ParkCost.nanos());
    }

    /**
     * Waits until a condition is true, for as long as it takes.
     *
     * @param condition what to wait for
     * @throws InterruptedException if the thread is interrupted and the condition is not true before
     *     it would sleep; a condition that is true soon is not interrupted
     */
    public void until(BooleanSupplier condition) throws InterruptedException {
        await(condition, Long.MAX_VALUE);
    }

    /**
     * Waits until a condition is true, or the time is over.
     *
     * @param condition what to wait for
     * @param atMost how long to wait at most
     * @return what the condition was at last
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
                // The nap itself teaches nothing: counted in, it would make each short wait look
                // too long to spin, once a few long ones have been seen.
                learn(waited);
                return true;
            }
        }
    }

    private void learn(long waited) {
        expected = expected.with(waited);
    }

    /** What it has learned. */
    SpinPolicy.Expected expected() {
        return expected;
    }

    /** A length that does not fit is longer than any wait. */
    private static long nanos(Duration length) {
        try {
            return length.toNanos();
        } catch (ArithmeticException tooLong) {
            return length.isNegative() ? 0 : Long.MAX_VALUE;
        }
    }
}
