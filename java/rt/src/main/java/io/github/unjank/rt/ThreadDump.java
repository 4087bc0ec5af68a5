package io.github.unjank.rt;

import java.lang.management.ManagementFactory;

import javax.management.JMException;
import javax.management.ObjectName;

/**
 * The JVM's own thread dump, as {@code jcmd PID Thread.print} shows it. This is a separate class
 * because not every runtime has the module {@code java.management}.
 */
final class ThreadDump {
    private ThreadDump() {}

    /** The dump, empty if this JVM has no such command. */
    static String text() {
        try {
            Object answer =
                    ManagementFactory.getPlatformMBeanServer()
                            .invoke(
                                    new ObjectName("com.sun.management:type=DiagnosticCommand"),
                                    "threadPrint",
                                    new Object[] {new String[0]},
                                    new String[] {String[].class.getName()});
            return String.valueOf(answer);
        } catch (JMException | RuntimeException noSuchCommand) {
            return "";
        }
    }
}
