package io.github.unjank.jitter;

import java.util.Map;
import java.util.TreeMap;

/**
 * Converts moments of JFR to {@link System#nanoTime()}.
 *
 * <p>JFR counts the ticks of the processor's time stamp counter and converts them to a wall clock
 * by a frequency that HotSpot estimates. So the two clocks drift apart, by milliseconds in minutes.
 * Marks name the same moment on both clocks. Moments between two marks are interpolated; before the
 * first and after the last mark, the clocks are assumed to run at the same rate.
 */
final class ClockLine {
    private final TreeMap<Long, Long> marks = new TreeMap<>();

    void add(long recorded, long nanoTime) {
        marks.put(recorded, nanoTime);
    }

    boolean isEmpty() {
        return marks.isEmpty();
    }

    /** Converts a moment of the recording; there must be a mark. */
    long nanoTime(long recorded) {
        Map.Entry<Long, Long> before = marks.floorEntry(recorded);
        Map.Entry<Long, Long> after = marks.higherEntry(recorded);
        if (before == null || after == null) {
            Map.Entry<Long, Long> near = before == null ? marks.firstEntry() : before;
            return near.getValue() + (recorded - near.getKey());
        }
        double part = (double) (recorded - before.getKey()) / (after.getKey() - before.getKey());
        return before.getValue() + Math.round(part * (after.getValue() - before.getValue()));
    }
}
