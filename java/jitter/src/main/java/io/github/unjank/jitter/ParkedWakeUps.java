package io.github.unjank.jitter;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A thread that parks until absolute moments: {@link LockSupport#parkNanos(long)}. */
final class ParkedWakeUps implements WakeUps {
    /** Calls of the loop before the run: HotSpot's last compilation is after 15,000 calls. */
    private static final int WARM_UP_CALLS = 20_000;

    /** One in this many calls of the warm-up really parks. */
    private static final int WARM_UP_PARKS = 20;

    private final Options options;
    private final Lateness lateness;
    private final CountDownLatch ready = new CountDownLatch(1);
    private final CountDownLatch begin = new CountDownLatch(1);
    private final CountDownLatch end = new CountDownLatch(1);
    private volatile RuntimeException refused;

    private ParkedWakeUps(Options options, Lateness lateness) {
        this.options = options;
        this.lateness = lateness;
    }

    static ParkedWakeUps prepare(Options options, Lateness lateness) throws InterruptedException {
        ParkedWakeUps wakeUps = new ParkedWakeUps(options, lateness);
        Thread thread = new Thread(wakeUps::run, THREAD);
        thread.setDaemon(true);
        thread.start();
        wakeUps.ready.await();
        if (wakeUps.refused != null) {
            throw wakeUps.refused;
        }
        return wakeUps;
    }

    /** Wakes for every period; the only code of the measuring thread during the run. */
    static void wakePeriodically(Lateness lateness) {
        int period = 0;
        while (period < lateness.periods()) {
            long due = lateness.due(period);
            long now = System.nanoTime();
            while (now - due < 0) {
                LockSupport.parkNanos(due - now);
                now = System.nanoTime();
            }
            period = lateness.woke(period, now);
        }
    }

    /** Makes the JVM compile {@link #wakePeriodically}. */
    static void warmUp() {
        Lateness scratch = new Lateness(2, 1_000);
        for (int call = 0; call < WARM_UP_CALLS; call++) {
            boolean parks = call % WARM_UP_PARKS == 0;
            scratch.startAt(System.nanoTime() + (parks ? 2_000 : -1_500));
            wakePeriodically(scratch);
        }
    }

    @Override
    public void go() {
        lateness.startAt(System.nanoTime() + LEAD_NANOS);
        begin.countDown();
    }

    @Override
    public boolean await(long millis) throws InterruptedException {
        return end.await(millis, TimeUnit.MILLISECONDS);
    }

    @Override
    public void close() {
        // The thread ends by itself, or with the program.
    }

    private void run() {
        warmUp();
        try {
            WakeUps.raise(options);
        } catch (RuntimeException failed) {
            refused = failed;
        }
        ready.countDown();
        try {
            begin.await();
        } catch (InterruptedException ended) {
            return;
        }
        wakePeriodically(lateness);
        end.countDown();
    }
}
