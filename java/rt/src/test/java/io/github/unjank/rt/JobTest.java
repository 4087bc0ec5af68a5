package io.github.unjank.rt;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;

/** Tasks whose job is a function in C, compiled here against the header in the jar. */
@Timeout(1200)
class JobTest {
    private static final String SOURCE =
            """
            #include <string.h>
            #include <unistd.h>
            #include "unjank_rt.h"

            /* Sends the message back, after the number of the period. */
            int32_t echo(const struct unjank_wakeup *wakeup, const void *in, uint32_t in_bytes,
                         void *out, uint32_t out_bytes) {
                if (in == 0 || in_bytes + 8 > out_bytes) return 0;
                memcpy(out, &wakeup->period, 8);
                memcpy((char *)out + 8, in, in_bytes);
                return (int32_t)in_bytes + 8;
            }

            int32_t five_times(const struct unjank_wakeup *wakeup, const void *in,
                               uint32_t in_bytes, void *out, uint32_t out_bytes) {
                (void)in; (void)in_bytes;
                memset(out, 'x', out_bytes);
                /* A longer message is truncated. */
                return wakeup->period >= 5 ? -1 : (int32_t)out_bytes + 1;
            }

            /* Does not return. */
            int32_t stuck(const struct unjank_wakeup *wakeup, const void *in, uint32_t in_bytes,
                          void *out, uint32_t out_bytes) {
                (void)wakeup; (void)in; (void)in_bytes; (void)out; (void)out_bytes;
                for (;;) usleep(1000);
            }
            """;

    @TempDir static Path dir;

    private static Path library;

    @BeforeAll
    static void compile() throws Exception {
        Needs.program("cc");
        try (InputStream header = CriticalTask.class.getResourceAsStream("unjank_rt.h")) {
            Files.copy(header, dir.resolve("unjank_rt.h"));
        }
        Path source = Files.writeString(dir.resolve("job.c"), SOURCE);
        library = dir.resolve("job.so");
        Process cc =
                new ProcessBuilder(
                                "cc",
                                "-Wall",
                                "-Wextra",
                                "-Werror",
                                "-shared",
                                "-fPIC",
                                "-o",
                                library.toString(),
                                source.toString())
                        .inheritIO()
                        .start();
        assertEquals(0, cc.waitFor());
    }

    private static CriticalTaskBuilder job(String symbol, boolean ownProcess) {
        CriticalTaskBuilder builder =
                CriticalTask.every(Duration.ofMillis(1)).job(library, symbol, 64);
        return ownProcess ? builder.inOwnProcess() : builder;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void messagesGoBothWays(boolean ownProcess) {
        try (CriticalTask task = job("echo", ownProcess).open()) {
            task.start();
            ByteBuffer message = task.newMessage();
            long last = -1;
            for (int n = 0; n < 20; n++) {
                String text = "message " + n;
                ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
                assertTrue(task.send(bytes));
                assertFalse(bytes.hasRemaining());
                assertTrue(task.receive(message.clear(), Duration.ofMinutes(1)));
                message.flip();
                long period = message.getLong();
                assertTrue(period > last, period + " after " + last);
                last = period;
                assertEquals(text, StandardCharsets.UTF_8.decode(message).toString());
            }
            assertThrows(IllegalStateException.class, () -> task.receive(new WakeUp()));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aFullRingToTheTaskIsSaid(boolean ownProcess) {
        try (CriticalTask task = job("echo", ownProcess).open()) {
            // The task was not started, so it takes no message.
            int sent = 0;
            while (task.send(ByteBuffer.allocate(1))) {
                sent++;
            }
            assertEquals(64, sent);
            assertThrows(IllegalArgumentException.class, () -> task.send(ByteBuffer.allocate(65)));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aJobEndsItsTask(boolean ownProcess) throws Exception {
        try (CriticalTask task = job("five_times", ownProcess).open()) {
            task.start();
            ByteBuffer message = task.newMessage();
            int received = 0;
            while (task.receive(message.clear(), Duration.ofMinutes(1))) {
                assertEquals(64, message.position());
                received++;
            }
            assertFalse(task.isRunning());
            assertEquals(task.wakeUps() - 1, received);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aJobThatDoesNotComeToAnEnd(boolean ownProcess) throws Exception {
        CriticalTask task = job("stuck", ownProcess).open();
        task.start();
        while (task.wakeUps() < 1) {
            Thread.sleep(1);
        }
        if (ownProcess) {
            task.close();
            assertTrue(ProcessHandle.of(task.processId()).isEmpty());
        } else {
            assertThrows(IllegalStateException.class, task::close);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aFunctionThatIsNotThereIsNamed(boolean ownProcess) {
        IllegalStateException error =
                assertThrows(IllegalStateException.class, () -> job("nowhere", ownProcess).open());
        assertTrue(error.getMessage().contains("nowhere"), error.getMessage());
        assertTrue(error.getMessage().contains("job.so"), error.getMessage());
    }

    @Test
    void aLibraryThatOthersCanWriteIsRefused() throws Exception {
        Path open = Files.copy(library, dir.resolve("open.so"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        UnsatisfiedLinkError error =
                assertThrows(
                        UnsatisfiedLinkError.class,
                        () -> CriticalTask.every(Duration.ofMillis(1)).job(open, "echo", 8).open());
        assertTrue(error.getMessage().contains("can be written by other users"));
    }
}
