package io.github.unjank.jitter;

import java.util.Date;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A {@link TimerTask} at a fixed rate, as in Higashiyama, Masuda and Ochiai.
 *
 * <p>{@link Timer} schedules in whole milliseconds of the wall clock and waits for whole
 * milliseconds, so it wakes up to a millisecond late by itself. Its moments are converted to the
 * clock of {@link System#nanoTime()} once, before the first.
 */
final class TimerWakeUps implements WakeUps {
    private static final int WARM_UP_CALLS = 20_000;
    private static final int WARM_UP_MS = 200;
    private static final long STEP_NANOS = 500_000;

    private final Options options;
    private final Lateness lateness;
    private final Timer timer = new Timer(THREAD, true);
    private final CountDownLatch end = new CountDownLatch(1);
    private long wallAhead;

    private TimerWakeUps(Options options, Lateness lateness) {
        this.options = options;
        this.lateness = lateness;
    }

    static TimerWakeUps prepare(Options options, Lateness lateness) throws InterruptedException {
        TimerWakeUps wakeUps = new TimerWakeUps(options, lateness);
        wakeUps.warmUp();
        return wakeUps;
    }

    /** One run of a timer's task. */
    static final class Task extends TimerTask {
        private final Lateness lateness;
        private final long firstMillis;
        private final long periodMillis;
        private final CountDownLatch end;

        Task(Lateness lateness, long firstMillis, CountDownLatch end) {
            this.lateness = lateness;
            this.firstMillis = firstMillis;
            this.periodMillis = TimeUnit.NANOSECONDS.toMillis(lateness.periodNanos());
            this.end = end;
        }

        @Override
        public void run() {
            long now = System.nanoTime();
            long period = (scheduledExecutionTime() - firstMillis) / periodMillis;
            if (lateness.woke((int) period, now) >= lateness.periods()) {
                cancel();
                end.countDown();
            }
        }
    }

    @Override
    public void go() {
        wallAhead = WallClock.aheadOfMonotonic();
        long firstMillis = System.currentTimeMillis() + TimeUnit.NANOSECONDS.toMillis(LEAD_NANOS);
        lateness.startAt(TimeUnit.MILLISECONDS.toNanos(firstMillis) - wallAhead);
        long periodMillis = TimeUnit.NANOSECONDS.toMillis(lateness.periodNanos());
        timer.scheduleAtFixedRate(
                new Task(lateness, firstMillis, end), new Date(firstMillis), periodMillis);
    }

    @Override
    public boolean await(long millis) throws InterruptedException {
        if (!end.await(millis, TimeUnit.MILLISECONDS)) {
            return false;
        }
        if (Math.abs(WallClock.aheadOfMonotonic() - wallAhead) > STEP_NANOS) {
            throw new IllegalStateException(
                    "the wall clock, which java.util.Timer uses, was set during the run");
        }
        return true;
    }

    @Override
    public void close() {
        timer.cancel();
    }

    /** Raises the timer's thread, and runs the task without recording, so that it is compiled. */
    private void warmUp() throws InterruptedException {
        CountDownLatch ready = new CountDownLatch(1);
        RuntimeException[] refused = new RuntimeException[1];
        timer.schedule(
                new TimerTask() {
                    @Override
                    public void run() {
                        Lateness scratch = new Lateness(1, 1_000_000);
                        Task task = new Task(scratch, 0, new CountDownLatch(1));
                        for (int call = 0; call < WARM_UP_CALLS; call++) {
                            scratch.startAt(System.nanoTime());
                            task.run();
                        }
                        try {
                            WakeUps.raise(options);
                        } catch (RuntimeException failed) {
                            refused[0] = failed;
                        }
                        ready.countDown();
                    }
                },
                0);
        ready.await();
        if (refused[0] != null) {
            throw refused[0];
        }
        CountDownLatch warm = new CountDownLatch(1);
        Lateness scratch = new Lateness(WARM_UP_MS, 1_000_000);
        long first = System.currentTimeMillis();
        scratch.startAt(TimeUnit.MILLISECONDS.toNanos(first) - WallClock.aheadOfMonotonic());
        timer.scheduleAtFixedRate(new Task(scratch, first, warm), new Date(first), 1);
        warm.await();
    }
}
