package io.github.unjank.rt;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** Thread dumps of HotSpot, as its versions print them. */
class NativeThreadsTest {
    private static final String JDK_17 =
            """
            "main" #1 prio=5 os_prio=0 cpu=70.76ms elapsed=0.15s tid=0x00007f9c00012c10 nid=0x5b2e runnable  [0x00007f9c07bfe000]
               java.lang.Thread.State: RUNNABLE

            "Reference Handler" #2 daemon prio=10 os_prio=0 cpu=0.18ms elapsed=0.13s tid=0x00007f9c000ea0f0 nid=0x5b34 waiting on condition  [0x00007f9bd4d0c000]

            "VM Thread" os_prio=0 cpu=5.08ms elapsed=0.13s tid=0x00007f9c000e6100 nid=0x5b33 runnable
            """;

    private static final String JDK_20 =
            """
            "main" #1 [23342] prio=5 os_prio=0 cpu=53.43ms elapsed=0.12s tid=0x00007f1a8c02a9d0 nid=23342 runnable  [0x00007f1a93dfe000]
            """;

    private static final String JDK_25 =
            """
            "main" #3 [23342] prio=5 os_prio=0 cpu=53.43ms elapsed=0.12s tid=0x00007f1a8c02a9d0 nid=23342 runnable  [0x00007f1a93dfe000]
            "Signal Dispatcher" #11 [23360] daemon prio=9 os_prio=0 cpu=0.09ms elapsed=0.10s tid=0x00007f1a8c15d5d0 nid=23360 waiting on condition  [0x0000000000000000]
            """;

    @Test
    void theDumpOfEveryVersionIsRead() {
        assertEquals(0x5b2e, NativeThreads.find(JDK_17, 1));
        assertEquals(0x5b34, NativeThreads.find(JDK_17, 2));
        assertEquals(23_342, NativeThreads.find(JDK_20, 1));
        assertEquals(23_360, NativeThreads.find(JDK_25, 11));
    }

    @Test
    void aMissingThreadHasNoNumber() {
        assertEquals(0, NativeThreads.find(JDK_17, 3));
        assertEquals(0, NativeThreads.find("", 1));
        assertEquals(0, NativeThreads.find("\"main\" #1 prio=5 os_prio=0 nid=0xfffffffff x", 1));
        assertEquals(0, NativeThreads.find("\"main\" #1 prio=5 os_prio=0 nid=soon x", 1));
    }

    @Test
    void anImitatedLineGivesNoNumber() {
        String imitation = "\"x\" #1 prio=5 os_prio=0 nid=0x1 runnable\n" + JDK_17;
        assertEquals(0, NativeThreads.find(imitation, 1));
        String contradiction = JDK_25.replace("[23342]", "[1]");
        assertEquals(0, NativeThreads.find(contradiction, 3));
    }
}
