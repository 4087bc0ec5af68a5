package io.github.unjank.rt;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * One ring of messages in shared memory, with one writer and one reader that never wait for each
 * other. {@code crates/jni/src/ring.rs} documents the protocol. Allocates nothing.
 */
final class MessageRing {
    static final int SLOTS = 256;
    private static final int HEAD = 0;
    private static final int TAIL = 128;

    private final ByteBuffer memory;
    private final int start;
    private final int mask;
    private final int slotBytes;
    private final int longest;

    MessageRing(ByteBuffer memory, int start, int slots, int message) {
        if (Integer.bitCount(slots) != 1 || start % 8 != 0) {
            throw new IllegalArgumentException(slots + " slots at " + start);
        }
        // The duplicate has its own position and limit, and does not inherit the byte order.
        this.memory = memory.duplicate().order(ByteOrder.LITTLE_ENDIAN).clear();
        this.start = start;
        this.mask = slots - 1;
        this.slotBytes = slotBytes(message);
        this.longest = message;
    }

    static int slotBytes(int message) {
        return 8 + (message + 7) / 8 * 8;
    }

    /** Copies the remaining bytes of {@code message} to the ring; false if the ring is full. */
    boolean send(ByteBuffer message) {
        int length = message.remaining();
        if (length > longest) {
            throw new IllegalArgumentException(
                    "a message of " + length + " bytes is longer than " + longest);
        }
        long head = (long) TaskMemory.WORD.getOpaque(memory, start + HEAD);
        // Pairs with the reader's release: the slot is free.
        long tail = (long) TaskMemory.WORD.getAcquire(memory, start + TAIL);
        if (head - tail > mask) {
            return false;
        }
        int slot = slot(head);
        memory.putLong(slot, length);
        memory.put(slot + 8, message, message.position(), length);
        message.position(message.limit());
        // Pairs with the reader's acquire: the slot is filled.
        TaskMemory.WORD.setRelease(memory, start + HEAD, head + 1);
        return true;
    }

    /**
     * Copies the oldest message to {@code target}, from its position on; false if there is none.
     *
     * @throws java.nio.BufferOverflowException if it does not fit; the message stays
     */
    boolean receive(ByteBuffer target) {
        long tail = (long) TaskMemory.WORD.getOpaque(memory, start + TAIL);
        // Pairs with the writer's release: the slot is filled.
        if ((long) TaskMemory.WORD.getAcquire(memory, start + HEAD) == tail) {
            return false;
        }
        int slot = slot(tail);
        int length = (int) Math.max(0, Math.min(memory.getLong(slot), longest));
        if (target.remaining() < length) {
            throw new java.nio.BufferOverflowException();
        }
        target.put(target.position(), memory, slot + 8, length);
        target.position(target.position() + length);
        // Pairs with the writer's acquire: the slot is free.
        TaskMemory.WORD.setRelease(memory, start + TAIL, tail + 1);
        return true;
    }

    private int slot(long number) {
        return start + SLOTS + (int) (number & mask) * slotBytes;
    }
}
