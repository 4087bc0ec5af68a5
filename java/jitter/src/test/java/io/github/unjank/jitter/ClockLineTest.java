package io.github.unjank.jitter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Conversion of moments of the recording to the clock of the measurement. */
class ClockLineTest {
    @Test
    void betweenMarksMomentsAreInterpolated() {
        ClockLine line = new ClockLine();
        line.add(1_000_000, 100);
        line.add(2_000_000, 1_000_300);
        line.add(3_000_000, 2_000_000);
        assertEquals(100, line.nanoTime(1_000_000));
        assertEquals(500_200, line.nanoTime(1_500_000));
        assertEquals(1_000_300, line.nanoTime(2_000_000));
        assertEquals(1_500_150, line.nanoTime(2_500_000));
    }

    @Test
    void beforeAndAfterTheMarksBothClocksRunAlike() {
        ClockLine line = new ClockLine();
        line.add(1_000, 100);
        line.add(2_000, 1_110);
        assertEquals(50, line.nanoTime(950));
        assertEquals(1_160, line.nanoTime(2_050));
    }

    @Test
    void theWallClockKeepsItsOffset() {
        // If the wall clock were set, the difference would be larger.
        long apart = WallClock.aheadOfMonotonic() - WallClock.aheadOfMonotonic();
        assertTrue(Math.abs(apart) < 1_000_000_000, "apart by " + apart);
    }
}
