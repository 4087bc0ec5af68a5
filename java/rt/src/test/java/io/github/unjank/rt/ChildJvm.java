package io.github.unjank.rt;

import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Another JVM of the same kind, which runs {@link ChildMain}. */
final class ChildJvm {
    private static final long LONGEST_SECONDS = 600;

    private final List<String> before = new ArrayList<>();
    private final List<String> options = new ArrayList<>();
    private String classPath = System.getProperty("java.class.path");

    /** Output of a child, both streams, and its exit code. */
    record Answer(int exit, String text) {}

    /** Removes the privilege for real-time threads, for any user. */
    ChildJvm unprivileged() {
        if (Needs.isRoot()) {
            before.addAll(List.of("setpriv", "--inh-caps=-sys_nice", "--bounding-set=-sys_nice"));
        }
        before.addAll(List.of("prlimit", "--rtprio=0:0"));
        return this;
    }

    ChildJvm option(String option) {
        options.add(option);
        return this;
    }

    ChildJvm classPath(Path first, Path second) {
        classPath = first + ":" + second;
        return this;
    }

    /** Starts it; both streams come out together. */
    Process start(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(before);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(
                List.of("-Xmx64m", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(options);
        command.addAll(List.of("-cp", classPath, ChildMain.class.getName()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** Runs it to its end. */
    Answer run(String... arguments) throws Exception {
        Path output = Files.createTempFile("child", ".txt");
        try {
            Process child = start(arguments);
            child.getOutputStream().close();
            Files.copy(
                    child.getInputStream(),
                    output,
                    java.nio.file.StandardCopyOption.REPLACE_EXISTING);
            if (!child.waitFor(LONGEST_SECONDS, TimeUnit.SECONDS)) {
                child.destroyForcibly();
                throw new AssertionError("the child does not end");
            }
            return new Answer(child.exitValue(), Files.readString(output));
        } finally {
            Files.delete(output);
        }
    }

    /** The first line of a child's output. */
    static String firstLine(Process child) throws Exception {
        BufferedReader reader =
                new BufferedReader(
                        new java.io.InputStreamReader(
                                child.getInputStream(), StandardCharsets.UTF_8));
        return reader.readLine();
    }
}
