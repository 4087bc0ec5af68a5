package io.github.unjank.jitter;

import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;

/**
 * Threads that make garbage without an end beside what they keep: small objects that die at once,
 * and if that is asked for, one kept object in 64 that another takes the place of.
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

    /** Keeps the compiler from leaving an allocation out. */
    private volatile Object sink;

    private Garbage(int threads, boolean replacing, Lateness lateness) {
        filled = new CountDownLatch(threads);
        this.replacing = replacing;
        this.lateness = lateness;
    }

    /**
     * Starts the threads, waits until what they keep is there, and has them wait for {@link #go()}.
     *
     * <p>They fill their memory here, and stop by themselves when {@code lateness} is complete: of
     * several threads that have one real-time priority and one CPU, one that makes garbage leaves
     * nothing to others that need memory. It gets it first after every collection.
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
