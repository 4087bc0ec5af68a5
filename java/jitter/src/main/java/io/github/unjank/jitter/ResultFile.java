package io.github.unjank.jitter;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;

/**
 * Writes the result. Little-endian: {@code UJJ1}, version, flags ({@code u32}, zero), the number of
 * periods, their length in nanoseconds ({@code u64}), the moment of the first ({@code i64}, {@code
 * CLOCK_MONOTONIC}); the latency of each wake-up ({@code i64}), or -1 for a missed period; the
 * number of events ({@code u32}), and for each its kind ({@code u8}), beginning and duration
 * ({@code i64}), and its name (length in bytes as {@code u16}, UTF-8).
 */
final class ResultFile {
    private static final int VERSION = 1;
    private static final int HEADER = 36;
    private static final int EVENT = 19;
    private static final int LONGEST_NAME = 1_024;
    private static final byte[] MAGIC = "UJJ1".getBytes(StandardCharsets.US_ASCII);

    private ResultFile() {}

    static void write(Path path, Lateness lateness, List<JvmEvent> events) throws IOException {
        try (FileChannel file =
                FileChannel.open(
                        path,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE,
                        StandardOpenOption.TRUNCATE_EXISTING)) {
            ByteBuffer rest = bytes(lateness, events);
            while (rest.hasRemaining()) {
                file.write(rest);
            }
        }
    }

    static ByteBuffer bytes(Lateness lateness, List<JvmEvent> events) {
        List<byte[]> names = events.stream().map(event -> name(event.name())).toList();
        long size = HEADER + 8L * lateness.periods() + 4 + (long) EVENT * events.size();
        size += names.stream().mapToLong(name -> name.length).sum();
        ByteBuffer out = ByteBuffer.allocate(Math.toIntExact(size)).order(ByteOrder.LITTLE_ENDIAN);
        out.put(MAGIC).putInt(VERSION).putInt(0);
        out.putLong(lateness.periods()).putLong(lateness.periodNanos()).putLong(lateness.due(0));
        for (int period = 0; period < lateness.periods(); period++) {
            out.putLong(lateness.at(period));
        }
        out.putInt(events.size());
        for (int n = 0; n < events.size(); n++) {
            JvmEvent event = events.get(n);
            out.put(event.kind().number).putLong(event.begin()).putLong(event.duration());
            out.putShort((short) names.get(n).length).put(names.get(n));
        }
        return out.flip();
    }

    private static byte[] name(String name) {
        byte[] whole = name.getBytes(StandardCharsets.UTF_8);
        return whole.length <= LONGEST_NAME ? whole : Arrays.copyOf(whole, LONGEST_NAME);
    }
}
