package io.github.unjank.jitter;

import com.sun.management.ThreadMXBean;

import java.lang.management.ManagementFactory;
import java.util.Locale;

/** Measures the cost of recording a wake-up in time and memory, on this machine and JVM. */
final class SelfTest {
    private static final int ROUNDS = 20;
    private static final int SAMPLES = 500_000;

    private SelfTest() {}

    static String run() {
        Lateness lateness = new Lateness(SAMPLES, 1_000_000);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = currentThreadId();
        double recording = Double.MAX_VALUE;
        double clock = Double.MAX_VALUE;
        long allocated = 0;
        // Early rounds warm up; the fastest is the least disturbed.
        for (int round = 0; round < ROUNDS; round++) {
            clock = Math.min(clock, clockNanos());
            long before = threads.getThreadAllocatedBytes(thread);
            recording = Math.min(recording, recordingNanos(lateness));
            allocated = threads.getThreadAllocatedBytes(thread) - before;
        }
        return String.format(
                Locale.ROOT,
                "recording costs %.1f ns a wake-up and allocates %d bytes in %d;"
                        + " reading the clock costs %.1f ns",
                recording,
                allocated,
                SAMPLES,
                clock);
    }

    private static double recordingNanos(Lateness lateness) {
        lateness.startAt(0);
        long begin = System.nanoTime();
        int period = 0;
        while (period < SAMPLES) {
            period = lateness.woke(period, lateness.due(period) + (period & 0xffff));
        }
        return (double) (System.nanoTime() - begin) / SAMPLES;
    }

    private static double clockNanos() {
        long begin = System.nanoTime();
        long last = begin;
        for (int n = 0; n < SAMPLES; n++) {
            last = System.nanoTime();
        }
        return (double) (last - begin) / SAMPLES;
    }

    @SuppressWarnings("deprecation") // threadId() came with JDK 19.
    private static long currentThreadId() {
        return Thread.currentThread().getId();
    }
}
