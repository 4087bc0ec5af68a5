package io.github.unjank.jitter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The command line. */
class OptionsTest {
    @Test
    void everyOptionIsRead() {
        Options options =
                Options.parse(
                        ("--count 7 --period-us 2000 --way timer --garbage 3 --variant process"
                                        + " --priority 70 --heap-live-mib 5 --load replacing --out run.ujj")
                                .split(" "));
        Options expected =
                new Options(
                        7,
                        2_000_000,
                        Options.Way.TIMER,
                        3,
                        Options.Variant.PROCESS,
                        70,
                        5 << 20,
                        Options.Load.REPLACING,
                        Path.of("run.ujj"));
        assertEquals(expected, options);
        assertEquals(0, Options.parse("--garbage", "none", "--out", "x").garbageThreads());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "--out",
                "--count 0 --out x",
                "--count many --out x",
                "--count 99999999999 --out x",
                "--period-us 1 --out x",
                "--priority 100 --out x",
                "--garbage -1 --out x",
                "--way sleep --out x",
                "--variant NATIVE --out x",
                "--loud yes --out x",
                "--way timer --period-us 1500 --out x",
            })
    void whatCannotBeIsNamed(String line) {
        String[] arguments = line.isEmpty() ? new String[0] : line.split(" ");
        String message =
                assertThrows(Options.UsageException.class, () -> Options.parse(arguments)).getMessage();
        assertTrue(message.contains("--"), message);
    }
}
