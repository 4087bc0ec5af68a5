package io.github.unjank.rt;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * What it takes on this machine until a parked thread runs after it was woken, measured once in a
 * JVM.
 *
 * <p>Who wakes it stays awake, so that it runs on another CPU: two threads that take turns in
 * sleeping would mostly share one, and measure a switch instead.
 */
final class ParkCost {
    /** What is believed: a machine under load must not teach threads to spin for long. */
    static final long LEAST_NANOS = 1_000;

    static final long MOST_NANOS = 50_000;

    /** Where nothing can be measured. */
    private static final long ASSUMED_NANOS = 10_000;

    private static final long TIME_NANOS = 1_500_000;

    /** For the other thread to be asleep again. */
    private static final long SETTLE_NANOS = 20_000;

    private static final int MOST_TRIPS = 100;
    private static final int OVER = -1;

    /** 0 until it is measured. */
    private static long known;

    /** Odd where the other thread is to answer. */
    private final AtomicInteger turn = new AtomicInteger();

    private ParkCost() {}

    /** The cost in nanoseconds; measures it, the first time. */
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
            // A real-time thread on the only CPU keeps the other from answering.
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

    /** Lets the other thread fall asleep; returns the time when it should have. */
    private static long settle() {
        long begun = System.nanoTime();
        long now = begun;
        while (now - begun < SETTLE_NANOS) {
            Thread.onSpinWait();
            now = System.nanoTime();
        }
        return now;
    }

    /** What the other thread does, until it is over. */
    private void answer() {
        int now = turn.get();
        while (now != OVER) {
            // Unless it is over just now.
            if (now % 2 == 0 || !turn.compareAndSet(now, now + 1)) {
                LockSupport.park(this);
            }
            now = turn.get();
        }
    }
}
