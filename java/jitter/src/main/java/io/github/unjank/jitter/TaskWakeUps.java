package io.github.unjank.jitter;

import io.github.unjank.rt.CriticalTask;
import io.github.unjank.rt.CriticalTaskBuilder;
import io.github.unjank.rt.WakeUp;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A {@link CriticalTask}, on a native thread or in a process of its own, that reports its wake-ups.
 * A Java thread, which the collector may stop, only receives the reports.
 */
final class TaskWakeUps implements WakeUps {
    private static final long BETWEEN_LOOKS_NANOS = 5_000_000;
    private static final int MOST_SLOTS = 1 << 18;

    private final Lateness lateness;
    private final CriticalTask task;
    private final CountDownLatch end = new CountDownLatch(1);
    private final Thread carrier = new Thread(this::carry, "carrier");
    private volatile String failure;

    private TaskWakeUps(Lateness lateness, CriticalTask task) {
        this.lateness = lateness;
        this.task = task;
    }

    static TaskWakeUps prepare(Options options, Lateness lateness) {
        CriticalTaskBuilder builder =
                CriticalTask.every(Duration.ofNanos(lateness.periodNanos()))
                        .name(THREAD)
                        .periods(lateness.periods())
                        .capacity(Math.min(lateness.periods(), MOST_SLOTS))
                        .priority(options.priority());
        if (options.variant() == Options.Variant.PROCESS) {
            builder.inOwnProcess();
        }
        TaskWakeUps wakeUps = new TaskWakeUps(lateness, builder.open());
        wakeUps.carrier.setDaemon(true);
        return wakeUps;
    }

    @Override
    public void go() {
        long first = System.nanoTime() + LEAD_NANOS;
        lateness.startAt(first);
        task.start(first);
        carrier.start();
    }

    @Override
    public boolean await(long millis) throws InterruptedException {
        if (!end.await(millis, TimeUnit.MILLISECONDS)) {
            return false;
        }
        if (failure != null) {
            throw new IllegalStateException(failure);
        }
        return true;
    }

    @Override
    public void close() {
        task.close();
    }

    private void carry() {
        WakeUp wakeUp = new WakeUp();
        boolean running = true;
        while (running) {
            // Once it is known to have ended, its last reports are already in the ring.
            running = task.isRunning();
            while (task.receive(wakeUp)) {
                lateness.note((int) wakeUp.period(), wakeUp.lateness());
            }
            LockSupport.parkNanos(BETWEEN_LOOKS_NANOS);
        }
        long periods = task.wakeUps() + task.missedPeriods();
        if (periods < lateness.periods()) {
            failure = "the task ended after " + periods + " of " + lateness.periods() + " periods";
        } else if (task.lostMessages() > 0) {
            failure = task.lostMessages() + " reports of wake-ups were lost";
        }
        end.countDown();
    }
}
