package io.github.unjank.rt;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Missing privileges, and limits of the whole process; each in its own JVM. */
class PrivilegeTest {
    @ParameterizedTest
    @ValueSource(strings = {"raise", "raise-other", "task", "task-process"})
    void withoutThePrivilegeTheFixIsNamed(String way) throws Exception {
        Needs.program("setpriv");
        Needs.program("prlimit");
        ChildJvm.Answer answer = new ChildJvm().unprivileged().run(way);
        assertNotEquals(0, answer.exit(), answer.text());
        for (String word :
                new String[] {
                    "RealtimePermissionException", "CAP_SYS_NICE", "RLIMIT_RTPRIO", "limits.conf"
                }) {
            assertTrue(answer.text().contains(word), word + " in: " + answer.text());
        }
    }

    @Test
    void theRunLimitOfTheProcessIsSet() throws Exception {
        Needs.realtime();
        ChildJvm.Answer usual = new ChildJvm().run("limit");
        assertTrue(usual.text().matches("(?s).*timeout\\s+1000000\\s.*"), usual.text());
        ChildJvm.Answer set = new ChildJvm().option("-Dunjank.rt.longest.run.ms=250").run("limit");
        assertTrue(set.text().matches("(?s).*timeout\\s+250000\\s.*"), set.text());
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "-1", "soon", "99999999999999999999"})
    void anInvalidLimitIsNamed(String millis) throws Exception {
        ChildJvm.Answer answer =
                new ChildJvm().option("-Dunjank.rt.longest.run.ms=" + millis).run("raise");
        assertEquals(1, answer.exit());
        assertTrue(
                answer.text().contains("unjank.rt.longest.run.ms is \"" + millis), answer.text());
    }

    @Test
    void aJvmWithoutNativeNumbersIsUnsupported() throws Exception {
        ChildJvm.Answer answer =
                new ChildJvm().option("--limit-modules=java.base").run("raise-other");
        assertTrue(answer.text().contains("UnsupportedOperationException"), answer.text());
        assertTrue(answer.text().contains("\"other\""), answer.text());
    }
}
