package io.github.unjank.rt;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The ring between Java and a task, with Java at both ends. */
class MessageRingTest {
    private static final int SLOTS = 4;
    private static final int MESSAGE = 12;

    private static ByteBuffer memory() {
        int bytes = MessageRing.SLOTS + SLOTS * MessageRing.slotBytes(MESSAGE);
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static ByteBuffer message(long value) {
        return ByteBuffer.allocate(8).putLong(0, value);
    }

    @Test
    void messagesComeOutInOrderAndAFullRingRefuses() {
        MessageRing ring = new MessageRing(memory(), 0, SLOTS, MESSAGE);
        ByteBuffer target = ByteBuffer.allocate(MESSAGE);
        for (int round = 0; round < 10; round++) {
            assertFalse(ring.receive(target));
            for (int n = 0; n < SLOTS; n++) {
                assertTrue(ring.send(message(n)));
            }
            ByteBuffer unsent = message(9);
            assertFalse(ring.send(unsent));
            assertEquals(8, unsent.remaining());
            for (int n = 0; n < SLOTS; n++) {
                assertTrue(ring.receive(target.clear()));
                assertEquals(8, target.position());
                assertEquals(n, target.getLong(0));
            }
        }
    }

    @Test
    void aMessageThatDoesNotFitIsRefused() {
        MessageRing ring = new MessageRing(memory(), 0, SLOTS, MESSAGE);
        assertThrows(
                IllegalArgumentException.class, () -> ring.send(ByteBuffer.allocate(MESSAGE + 1)));
        assertTrue(ring.send(message(5)));
        assertThrows(BufferOverflowException.class, () -> ring.receive(ByteBuffer.allocate(7)));
        ByteBuffer target = ByteBuffer.allocate(8);
        assertTrue(ring.receive(target), "it stayed");
        assertEquals(5, target.getLong(0));
    }

    @Test
    void aWrongLengthFromThePeerIsBounded() {
        ByteBuffer memory = memory();
        MessageRing ring = new MessageRing(memory, 0, SLOTS, MESSAGE);
        ByteBuffer target = ByteBuffer.allocate(MESSAGE);
        for (long length : new long[] {Long.MAX_VALUE, -1}) {
            assertTrue(ring.send(message(1)));
            for (int slot = 0; slot < SLOTS; slot++) {
                memory.putLong(MessageRing.SLOTS + slot * MessageRing.slotBytes(MESSAGE), length);
            }
            assertTrue(ring.receive(target.clear()));
            assertEquals(length < 0 ? 0 : MESSAGE, target.position());
        }
    }

    @Test
    @Timeout(1200)
    void twoThreadsExchangeEachMessageOnce() throws Exception {
        MessageRing ring = new MessageRing(memory(), 0, SLOTS, MESSAGE);
        int messages = 200_000;
        Thread writer =
                new Thread(
                        () -> {
                            for (int n = 0; n < messages; n++) {
                                while (!ring.send(message(n))) {
                                    Thread.yield();
                                }
                            }
                        });
        writer.start();
        ByteBuffer target = ByteBuffer.allocate(MESSAGE);
        for (int n = 0; n < messages; n++) {
            while (!ring.receive(target.clear())) {
                Thread.yield();
            }
            assertEquals(n, target.getLong(0));
        }
        writer.join();
    }
}
