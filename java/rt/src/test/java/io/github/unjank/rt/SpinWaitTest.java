package io.github.unjank.rt;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/** {@link SpinWait} with real threads. */
@Timeout(1200)
class SpinWaitTest {
    @Test
    void theParkCostIsMeasuredOnce() {
        Duration cost = SpinWait.parkCost();
        assertTrue(cost.toNanos() >= ParkCost.LEAST_NANOS, cost.toString());
        assertTrue(cost.toNanos() <= ParkCost.MOST_NANOS, cost.toString());
        assertEquals(cost, SpinWait.parkCost());
    }

    @Test
    void itChecksUntilTheConditionIsTrueAndLearns() throws Exception {
        SpinWait wait = new SpinWait();
        AtomicInteger looks = new AtomicInteger();
        wait.until(() -> looks.incrementAndGet() == 3);
        assertEquals(3, looks.get());
        assertTrue(wait.expected().nanos() > 0);
    }

    @Test
    void aTrueConditionReturnsAtOnce() throws Exception {
        SpinWait wait = new SpinWait();
        Thread.currentThread().interrupt();
        wait.until(() -> true);
        assertTrue(wait.until(() -> true, Duration.ZERO));
        assertTrue(Thread.interrupted(), "it stays interrupted");
        assertEquals(SpinPolicy.Expected.UNKNOWN, wait.expected());
    }

    @Test
    void itGivesUpInTime() throws Exception {
        SpinWait wait = new SpinWait();
        assertFalse(wait.until(() -> false, Duration.ofMillis(2)));
        assertFalse(wait.until(() -> false, Duration.ZERO));
        assertFalse(wait.until(() -> false, Duration.ofSeconds(Long.MIN_VALUE)));
        assertEquals(SpinPolicy.Expected.UNKNOWN, wait.expected(), "nothing is learned of it");
    }

    @Test
    void aLongWaitIsSlept() throws Exception {
        AtomicInteger looks = new AtomicInteger();
        BooleanSupplier never = () -> looks.incrementAndGet() < 0;
        assertFalse(new SpinWait().until(never, Duration.ofMillis(50)));
        // Spinning all the time would be a hundred thousand checks.
        assertTrue(looks.get() < 1_000, looks + " looks");
    }

    @Test
    void shortWaitsAreSpunAgainAfterLongOnes() throws Exception {
        long park = 20_000;
        SpinWait wait = new SpinWait(park);
        for (int n = 0; n < 3; n++) {
            lasting(2_000_000, wait);
        }
        assertTrue(wait.expected().nanos() > park, wait.expected().toString());
        // Each is longer than the shortest spin, so it ends in a nap at first. A failure times out.
        while (wait.expected().nanos() > park) {
            lasting(5_000, wait);
        }
    }

    private static void lasting(long nanos, SpinWait wait) throws InterruptedException {
        long begun = System.nanoTime();
        wait.until(() -> System.nanoTime() - begun >= nanos);
    }

    @Test
    void anInterruptEndsASleep() throws Exception {
        SpinWait wait = new SpinWait();
        Thread waiting = Thread.currentThread();
        Thread other = new Thread(waiting::interrupt);
        assertThrows(
                InterruptedException.class,
                () -> {
                    other.start();
                    wait.until(() -> false, Duration.ofSeconds(Long.MAX_VALUE));
                });
        other.join();
        assertFalse(Thread.interrupted(), "as after every InterruptedException");
    }

    @Test
    void threadsHandATurnToEachOther() throws Exception {
        SpinWait wait = new SpinWait();
        AtomicInteger turn = new AtomicInteger();
        int rounds = 2_000;
        Thread second = new Thread(() -> play(wait, turn, 1, rounds));
        second.start();
        play(wait, turn, 0, rounds);
        second.join(TimeUnit.MINUTES.toMillis(10));
        assertEquals(2 * rounds, turn.get());
    }

    private static void play(SpinWait wait, AtomicInteger turn, int player, int rounds) {
        try {
            for (int round = 0; round < rounds; round++) {
                int mine = 2 * round + player;
                wait.until(() -> turn.get() == mine);
                turn.set(mine + 1);
            }
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
    }
}
