package io.github.unjank.jitter;

import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;

/**
 * Threads that make garbage without an end, and keep some of it for a while: small objects that die
 * at once, and a live set in which one object in 64 replaces another.
 */
final class Garbage {
    private static final int KEPT_BYTES = 1_024;
    private static final int SHORT_LIVED = 64;
    private static final int LEAST_BYTES = 16;
    private static final int MOST_BYTES = 2_048;

    private final CountDownLatch begin = new CountDownLatch(1);
    private final CountDownLatch filled;
    private volatile boolean stopped;

    /** Keeps the compiler from leaving an allocation out. */
    private volatile Object sink;

    private Garbage(int threads) {
        filled = new CountDownLatch(threads);
    }

    /** Starts the threads, which wait for {@link #go()}. */
    static Garbage start(int threads, long liveBytes) {
        Garbage garbage = new Garbage(threads);
        for (int number = 0; number < threads; number++) {
            int kept = Math.toIntExact(liveBytes / threads / KEPT_BYTES);
            int seed = number;
            Thread thread = new Thread(() -> garbage.make(kept, seed), "load-" + number);
            thread.setDaemon(true);
            thread.start();
        }
        return garbage;
    }

    /** Lets the threads begin, and waits until what they keep is there. */
    void go() throws InterruptedException {
        begin.countDown();
        filled.await();
    }

    void stop() {
        stopped = true;
    }

    private void make(int kept, int seed) {
        try {
            begin.await();
        } catch (InterruptedException ended) {
            return;
        }
        byte[][] live = new byte[kept][];
        for (int n = 0; n < kept && !stopped; n++) {
            live[n] = new byte[KEPT_BYTES];
        }
        filled.countDown();
        SplittableRandom random = new SplittableRandom(seed);
        while (!stopped) {
            for (int n = 0; n < SHORT_LIVED; n++) {
                sink = new byte[random.nextInt(LEAST_BYTES, MOST_BYTES)];
            }
            if (kept > 0) {
                live[random.nextInt(kept)] = new byte[KEPT_BYTES];
            }
        }
    }
}
