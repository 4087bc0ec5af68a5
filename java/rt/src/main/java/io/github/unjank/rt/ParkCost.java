package io.github.unjank.rt;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * The time from the wake-up call until a parked thread runs, measured once in each JVM.
 *
 * <p>The waking thread spins meanwhile, so the parked thread wakes on another CPU. Two threads that
 * sleep in turn would mostly share one CPU and measure a context switch instead.
 */
final class ParkCost {
    /** Limits of the result, so that threads do not spin for long if the machine was under load. */
    static final long LEAST_NANOS = 1_000;

    static final long MOST_NANOS = 50_000;

    /** The cost if it cannot be measured. */
    private static final long ASSUMED_NANOS = 10_000;

    private static final long TIME_NANOS = 1_500_000;

    /** Time for the other thread to fall asleep. */
    private static final long SETTLE_NANOS = 20_000;

    private static final int MOST_TRIPS = 100;
    private static final int OVER = -1;

    /** 0 until it is measured. */
    private static long known;

    /** Odd while the other thread must answer. */
    private final AtomicInteger turn = new AtomicInteger();

    private ParkCost() {}

    /** Returns the cost in nanoseconds; the first call measures it. */
    static synchronized long nanos() {
        if (known == 0) {
            known = Math.max(LEAST_NANOS, Math.min(new ParkCost().measure(), MOST_NANOS));
        }
        return known;
    }

    private long measure() {
        Thread other = new Thread(this::answer, "unjank-park-cost");
        other.setDaemon(true);
        try {
            other.start();
        } catch (OutOfMemoryError noThreads) {
            return ASSUMED_NANOS;
        }
        long[] trips = new long[MOST_TRIPS];
        int done = 0;
        long begun = System.nanoTime();
        while (done < MOST_TRIPS) {
            long sent = settle();
            int asked = 2 * done + 1;
            turn.set(asked);
            LockSupport.unpark(other);
            // On a single CPU, a real-time caller would keep the other thread from answering.
            while (turn.get() == asked && System.nanoTime() - begun < TIME_NANOS) {
                Thread.onSpinWait();
            }
            if (turn.get() == asked) {
                break;
            }
            trips[done++] = System.nanoTime() - sent;
        }
        turn.set(OVER);
        LockSupport.unpark(other);
        Arrays.sort(trips, 0, done);
        return done == 0 ? ASSUMED_NANOS : trips[done / 2];
    }

    /** Waits until the other thread should be asleep; returns the time. */
    private static long settle() {
        long begun = System.nanoTime();
        long now = begun;
        while (now - begun < SETTLE_NANOS) {
            Thread.onSpinWait();
            now = System.nanoTime();
        }
        return now;
    }

    /** The loop of the other thread. */
    private void answer() {
        int now = turn.get();
        while (now != OVER) {
            // Fails if the measurement has just ended.
            if (now % 2 == 0 || !turn.compareAndSet(now, now + 1)) {
                LockSupport.park(this);
            }
            now = turn.get();
        }
    }
}
