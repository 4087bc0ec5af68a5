package io.github.unjank.rt;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds the numbers that Linux has given to threads of this JVM.
 *
 * <p>No method returns them. HotSpot prints them in its thread dump, next to the thread's
 * identifier: {@code "name" #31 prio=5 … nid=0x5b2e} up to JDK 18, {@code "name" #31 [23342] …}
 * since 21, and {@code nid=} in decimal in between. A thread name can imitate such a line. So a
 * number counts only if exactly one line has the identifier, the thread lives before and after, and
 * the process has a thread with that number.
 */
final class NativeThreads {
    private static final Pattern LINE =
            Pattern.compile(
                    "^\".*\" #(\\d+)(?: \\[(\\d+)\\])?(?: daemon)? prio=\\d+ os_prio=.*"
                        + " nid=(\\w+).*$",
                    Pattern.MULTILINE);

    /** {@code Thread.isVirtual()}, which JDK 17 does not have yet. */
    private static final MethodHandle IS_VIRTUAL = findIsVirtual();

    private NativeThreads() {}

    static boolean isVirtual(Thread thread) {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(thread);
        } catch (Throwable never) {
            throw new AssertionError(never);
        }
    }

    /** The number of a live platform thread. */
    static int numberOf(Thread thread) {
        requireAlive(thread);
        int number = find(dump(), identifier(thread));
        requireAlive(thread);
        if (number <= 0 || !Files.exists(Path.of("/proc/self/task", Integer.toString(number)))) {
            throw new UnsupportedOperationException(
                    "this JVM does not show the native number of the thread \""
                            + thread.getName()
                            + "\": call RtThread.setPriority(Thread.currentThread(), …) in that"
                            + " thread");
        }
        return number;
    }

    /** The number in the only line of {@code dump} for a thread's identifier, or 0. */
    static int find(String dump, long identifier) {
        int found = 0;
        Matcher lines = LINE.matcher(dump);
        while (lines.find()) {
            if (!lines.group(1).equals(Long.toString(identifier))) {
                continue;
            }
            if (found != 0) {
                return 0;
            }
            try {
                found = Integer.decode(lines.group(3));
            } catch (NumberFormatException notANumber) {
                return 0;
            }
            if (lines.group(2) != null && !lines.group(2).equals(Integer.toString(found))) {
                return 0;
            }
        }
        return found;
    }

    private static void requireAlive(Thread thread) {
        if (!thread.isAlive()) {
            throw new IllegalThreadStateException(
                    "the thread \"" + thread.getName() + "\" was not started, or has ended");
        }
    }

    @SuppressWarnings("deprecation") // threadId() came with JDK 19.
    private static long identifier(Thread thread) {
        return thread.getId();
    }

    private static String dump() {
        try {
            return ThreadDump.text();
        } catch (LinkageError withoutManagement) {
            return "";
        }
    }

    private static MethodHandle findIsVirtual() {
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException beforeJdk21) {
            return null;
        }
    }
}
