package io.github.unjank.rt;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** The main class of {@link ChildJvm}: does one thing and prints the result. */
final class ChildMain {
    private ChildMain() {}

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "raise" -> {
                RtThread.setPriority(Thread.currentThread(), 150);
                System.out.println(RtThread.policy());
            }
            case "raise-other" -> {
                Thread other = new Thread(ChildMain::sleep, "other");
                other.setDaemon(true);
                other.start();
                RtThread.setPriority(other, 150);
            }
            case "limit" -> {
                RtThread.setPriority(Thread.currentThread(), 101);
                Files.lines(Path.of("/proc/self/limits"))
                        .filter(line -> line.startsWith("Max realtime timeout"))
                        .forEach(System.out::println);
            }
            case "thread-id" -> System.out.println("thread " + RtThread.threadId());
            case "task" -> CriticalTask.every(Duration.ofMillis(1)).priority(50).open().close();
            case "task-process" ->
                    CriticalTask.every(Duration.ofMillis(1))
                            .priority(50)
                            .inOwnProcess()
                            .open()
                            .close();
            case "keep-process" -> {
                CriticalTask task = CriticalTask.every(Duration.ofMillis(1)).inOwnProcess().open();
                task.start();
                System.out.println(task.processId());
                sleep();
            }
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(600_000);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
