package io.github.unjank.jitter;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The bytes that {@code unjank jitter jvm} reads. */
class ResultFileTest {
    @Test
    void everyFieldIsInItsPlace() {
        Lateness lateness = new Lateness(3, 1_000_000);
        lateness.startAt(5_000_000);
        lateness.woke(0, 5_000_007);
        lateness.woke(2, 7_000_009);
        List<JvmEvent> events =
                List.of(
                        new JvmEvent(JvmEvent.Kind.PAUSE, 6_000_000, 3, "GC"),
                        new JvmEvent(JvmEvent.Kind.CONCURRENT, 9_000_000, 5, "é"));
        String expected =
                "554a4a31" + "01000000" + "00000000"
                        + "0300000000000000" + "40420f0000000000" + "404b4c0000000000"
                        + "0700000000000000" + "ffffffffffffffff" + "0900000000000000"
                        + "02000000"
                        + "01" + "808d5b0000000000" + "0300000000000000" + "0200" + "4743"
                        + "03" + "4054890000000000" + "0500000000000000" + "0200" + "c3a9";
        assertEquals(expected, HexFormat.of().formatHex(ResultFile.bytes(lateness, events).array()));
    }

    @Test
    void aLongNameIsTruncated() {
        Lateness lateness = new Lateness(1, 1);
        String name = "x".repeat(70_000);
        int bytes =
                ResultFile.bytes(lateness, List.of(new JvmEvent(JvmEvent.Kind.SAFEPOINT, 1, 1, name)))
                        .limit();
        assertEquals(36 + 8 + 4 + 19 + 1_024, bytes);
    }
}
