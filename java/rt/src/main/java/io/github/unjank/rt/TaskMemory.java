package io.github.unjank.rt;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The memory that a task shares with Java. {@code crates/jni/src/layout.rs} documents the offsets.
 *
 * <p>Java maps it itself, so the mapping lives as long as a buffer refers to it, and reading a
 * closed task does not crash.
 */
final class TaskMemory {
    /** A 64-bit word at an offset, little-endian like the supported machines. */
    static final VarHandle WORD =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    static final int CONTROL = 4_096;
    static final int FIRST = 256;
    static final int STATE = 384;
    static final int THREAD = 392;
    static final int WAKEUPS = 512;
    static final int MISSED = 520;
    static final int LOST = 528;

    static final long STARTING = 0;
    static final long READY = 1;
    static final long RUNNING = 2;
    static final long FAILED = 4;
    static final long REFUSED = 5;

    private static final long VERSION = 0x0200_4b53_4154_4a55L;
    private static final int MAGIC = 0;
    private static final int SLOTS_OUT = 8;
    private static final int SLOTS_IN = 16;
    private static final int MESSAGE = 24;
    private static final int ERROR_LENGTH = 1_016;
    private static final int ERROR_TEXT = 1_024;

    private final ByteBuffer memory;

    private TaskMemory(ByteBuffer memory) {
        this.memory = memory;
    }

    /** Maps the memory behind a descriptor of this process. */
    static TaskMemory map(int descriptor) throws IOException {
        Path path = Path.of("/proc/self/fd", Integer.toString(descriptor));
        try (FileChannel file =
                FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            TaskMemory memory =
                    new TaskMemory(
                            file.map(FileChannel.MapMode.READ_WRITE, 0, file.size())
                                    .load()
                                    .order(ByteOrder.LITTLE_ENDIAN));
            if (memory.get(MAGIC) != VERSION) {
                throw new IOException("library and jar of unjank-rt have different versions");
            }
            return memory;
        }
    }

    /** The ring from the task to Java. */
    MessageRing fromTask() {
        return new MessageRing(memory, CONTROL, slots(SLOTS_OUT), message());
    }

    /** The ring from Java to the task. */
    MessageRing toTask() {
        int ring = MessageRing.SLOTS + slots(SLOTS_OUT) * MessageRing.slotBytes(message());
        int start = CONTROL + (ring + 4_095) / 4_096 * 4_096;
        return new MessageRing(memory, start, slots(SLOTS_IN), message());
    }

    long get(int offset) {
        // Pairs with the release stores of the task.
        return (long) WORD.getAcquire(memory, offset);
    }

    void set(int offset, long value) {
        // Pairs with the acquire loads of the task.
        WORD.setRelease(memory, offset, value);
    }

    /** Why the task failed. */
    String error() {
        int length = (int) Math.max(0, Math.min(get(ERROR_LENGTH), CONTROL - ERROR_TEXT));
        byte[] text = new byte[length];
        memory.get(ERROR_TEXT, text);
        return new String(text, StandardCharsets.UTF_8);
    }

    private int slots(int offset) {
        return Math.toIntExact(get(offset));
    }

    private int message() {
        return Math.toIntExact(get(MESSAGE));
    }
}
