package io.github.unjank.jitter;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Late wake-ups and missed periods. */
class LatenessTest {
    private static Lateness often() {
        Lateness lateness = new Lateness(10, 1_000);
        lateness.startAt(50_000);
        return lateness;
    }

    private static long[] all(Lateness lateness) {
        long[] all = new long[lateness.periods()];
        for (int n = 0; n < all.length; n++) {
            all[n] = lateness.at(n);
        }
        return all;
    }

    @Test
    void aStopIsOneLateWakeUpAndMissedPeriods() {
        Lateness lateness = often();
        assertEquals(1, lateness.woke(0, 50_007));
        // Due at 51,000, so 52,000 to 54,000 have passed as well.
        assertEquals(5, lateness.woke(1, 54_200));
        assertEquals(6, lateness.woke(5, 55_001));
        long[] expected = {7, 3_200, -1, -1, -1, 1, -1, -1, -1, -1};
        assertArrayEquals(expected, all(lateness));
    }

    @Test
    void aTimerThatCatchesUpGivesTheSame() {
        Lateness lateness = often();
        lateness.woke(0, 50_007);
        for (int period = 1; period <= 4; period++) {
            assertEquals(5, lateness.woke(period, 54_200 + period));
        }
        assertEquals(3_201, lateness.at(1));
        assertEquals(Lateness.MISSED, lateness.at(2));
        assertEquals(Lateness.MISSED, lateness.at(4));
    }

    @Test
    void aPeriodThatBeginsAtThatMomentHasPassed() {
        assertEquals(1, often().woke(0, 50_999));
        assertEquals(2, often().woke(0, 51_000));
    }

    @Test
    void periodsAfterTheLastAreIgnored() {
        Lateness lateness = often();
        assertEquals(10, lateness.woke(8, 99_000_000));
        assertEquals(10, lateness.woke(10, 99_000_000));
        assertEquals(10, lateness.woke(-1, 99_000_000));
        assertEquals(99_000_000 - 58_000, lateness.at(8));
    }

    @Test
    void aClockAheadCountsAsInTime() {
        Lateness lateness = often();
        assertEquals(1, lateness.woke(0, 49_990));
        assertEquals(0, lateness.at(0));
    }

    @Test
    void theSummaryCountsBoth() {
        Lateness lateness = new Lateness(5, 1_000_000);
        lateness.startAt(0);
        lateness.woke(0, 500_000);
        lateness.woke(1, 1_000_000 + 2_500_000);
        lateness.woke(4, 4_000_000);
        String summary = lateness.summary();
        assertTrue(
                summary.startsWith("3 wake-ups, 2 missed periods; late by p50 0.500 ms"), summary);
        assertTrue(summary.endsWith("worst 2.500 ms"), summary);
    }
}
