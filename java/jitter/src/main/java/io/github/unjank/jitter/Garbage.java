package io.github.unjank.jitter;

import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;

/**
 * Threads that make garbage without end beside a live set: small objects that are never referenced,
 * and with {@code replacing}, one live object in 64 that a new one replaces.
 */
final class Garbage {
    private static final int KEPT_BYTES = 1_024;
    private static final int SHORT_LIVED = 64;
    private static final int LEAST_BYTES = 16;
    private static final int MOST_BYTES = 2_048;

    private final CountDownLatch begin = new CountDownLatch(1);
    private final CountDownLatch filled;
    private volatile boolean stopped;

    private final boolean replacing;
    private final Lateness lateness;

    /** Keeps the compiler from removing an allocation. */
    private volatile Object sink;

    private Garbage(int threads, boolean replacing, Lateness lateness) {
        filled = new CountDownLatch(threads);
        this.replacing = replacing;
        this.lateness = lateness;
    }

    /**
     * Starts the threads and waits until their live set exists; they wait for {@link #go()}.
     *
     * <p>They allocate the live set here, and stop by themselves when {@code lateness} is complete.
     * If all threads share one real-time priority and one CPU, a thread that makes garbage gets the
     * memory first after every collection and leaves none to the others.
     */
    static Garbage start(Options options, Lateness lateness) throws InterruptedException {
        int threads = options.garbageThreads();
        boolean replacing = options.load() == Options.Load.REPLACING;
        Garbage garbage = new Garbage(threads, replacing, lateness);
        for (int number = 0; number < threads; number++) {
            int kept = Math.toIntExact(options.liveBytes() / threads / KEPT_BYTES);
            int seed = number;
            Thread thread = new Thread(() -> garbage.make(kept, seed), "load-" + number);
            thread.setDaemon(true);
            thread.start();
        }
        garbage.filled.await();
        return garbage;
    }

    /** Lets the threads begin. */
    void go() {
        begin.countDown();
    }

    void stop() {
        stopped = true;
    }

    private void make(int kept, int seed) {
        byte[][] live = new byte[kept][];
        for (int n = 0; n < kept; n++) {
            live[n] = new byte[KEPT_BYTES];
        }
        filled.countDown();
        try {
            begin.await();
        } catch (InterruptedException ended) {
            return;
        }
        SplittableRandom random = new SplittableRandom(seed);
        while (!stopped && !lateness.isComplete()) {
            for (int n = 0; n < SHORT_LIVED; n++) {
                sink = new byte[random.nextInt(LEAST_BYTES, MOST_BYTES)];
            }
            if (replacing && kept > 0) {
                live[random.nextInt(kept)] = new byte[KEPT_BYTES];
            }
        }
    }
}
