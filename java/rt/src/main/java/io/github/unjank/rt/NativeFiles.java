package io.github.unjank.rt;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;

/** Finds, checks and extracts the native library and the program of tasks. */
final class NativeFiles {
    static final String LIBRARY = "libunjank_rt.so";
    static final String PROGRAM = "unjank-rt-task";

    /** Machine numbers of ELF files (elf(5)), and the names of their directories in the jar. */
    private static final Map<Integer, String> MACHINES = Map.of(62, "x86_64", 183, "aarch64");

    private NativeFiles() {}

    /** Loads the library of {@code unjank.rt.library}, or the one in the jar. */
    static void loadLibrary() {
        String given = System.getProperty("unjank.rt.library");
        if (given != null) {
            System.load(trusted(given, "unjank.rt.library").toString());
            return;
        }
        Path file = extract(LIBRARY);
        try {
            System.load(file.toString());
        } catch (UnsatisfiedLinkError refused) {
            throw failure(
                    "cannot load the native library from "
                            + file.getParent()
                            + " ("
                            + refused.getMessage()
                            + "); if programs may not run from there, set another directory with"
                            + " -Djava.io.tmpdir, or the path of the library with"
                            + " -Dunjank.rt.library",
                    refused);
        } finally {
            remove(file);
        }
    }

    /** The program of {@code unjank.rt.task}, or a private copy of the one in the jar. */
    static Path program() {
        String given = System.getProperty("unjank.rt.task");
        return given == null ? extract(PROGRAM) : trusted(given, "unjank.rt.task");
    }

    /** Removes a private copy; a running program goes on. */
    static void removeProgram(Path program) {
        if (System.getProperty("unjank.rt.task") == null) {
            remove(program);
        }
    }

    /** Resolves a path to native code; throws unless only this user and root can write it. */
    static Path trusted(String given, String property) {
        Path path = Path.of(given);
        if (!path.isAbsolute()) {
            throw failure(property + " is \"" + given + "\", not an absolute path", null);
        }
        try {
            Path file = path.toRealPath();
            String reason = FileTrust.whyNot(file);
            if (reason != null) {
                throw failure("will not run " + given + " (" + property + "): " + reason, null);
            }
            byte[] head = new byte[20];
            try (InputStream in = Files.newInputStream(file)) {
                int length = in.readNBytes(head, 0, head.length);
                requireMachine(head, length, given);
            }
            return file;
        } catch (IOException unreadable) {
            throw failure(
                    "cannot read " + given + " (" + property + "): " + unreadable, unreadable);
        }
    }

    /** Throws unless the file is native code of this architecture. */
    static void requireMachine(byte[] head, int length, String name) {
        boolean elf =
                length >= 20
                        && head[0] == 0x7f
                        && head[1] == 'E'
                        && head[2] == 'L'
                        && head[3] == 'F';
        if (!elf) {
            throw failure(name + " is not a Linux library or program (no ELF header)", null);
        }
        int machine = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN).getShort(18) & 0xffff;
        String its = MACHINES.getOrDefault(machine, "machine " + machine);
        if (!its.equals(architecture())) {
            throw failure(
                    name + " is for " + its + ", and this JVM runs on " + architecture(), null);
        }
    }

    static String architecture() {
        String name = System.getProperty("os.arch");
        return switch (name) {
            case "amd64", "x86_64" -> "x86_64";
            case "aarch64", "arm64" -> "aarch64";
            default -> name;
        };
    }

    /**
     * Copies a file of the jar into a new private directory and reads it back, to check that it has
     * the digest of the build.
     */
    private static Path extract(String name) {
        String resource = "native/linux-" + architecture() + "/" + name;
        byte[] content = read(resource);
        String digest = new String(read(resource + ".sha256"), StandardCharsets.US_ASCII).strip();
        requireDigest(content, digest, resource + " in the jar");
        requireMachine(content, content.length, resource + " in the jar");
        Path file = null;
        try {
            Path directory = Files.createTempDirectory("unjank-rt-", permissions("rwx------"));
            file = directory.resolve(name);
            try (FileChannel out =
                    FileChannel.open(
                            file,
                            Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                            permissions("rwx------"))) {
                ByteBuffer rest = ByteBuffer.wrap(content);
                while (rest.hasRemaining()) {
                    out.write(rest);
                }
            }
            requireDigest(Files.readAllBytes(file), digest, file.toString());
            // Other users must not be able to replace it by renaming a directory.
            String reason = FileTrust.whyNot(file.toRealPath());
            if (reason != null) {
                throw new IOException(reason);
            }
            return file;
        } catch (IOException | RuntimeException | UnsatisfiedLinkError failed) {
            if (file != null) {
                remove(file);
            }
            throw failure(
                    "cannot extract "
                            + name
                            + " from the jar to "
                            + System.getProperty("java.io.tmpdir")
                            + ": "
                            + failed
                            + "; set another directory with -Djava.io.tmpdir, or the path of the"
                            + " library with -Dunjank.rt.library",
                    failed);
        }
    }

    private static byte[] read(String resource) {
        try (InputStream in = NativeFiles.class.getResourceAsStream(resource)) {
            if (in != null) {
                return in.readAllBytes();
            }
        } catch (IOException unreadable) {
            throw failure(
                    "cannot read " + resource + " in the jar of unjank-rt: " + unreadable,
                    unreadable);
        }
        throw failure(
                "the jar of unjank-rt has no "
                        + resource
                        + ": it was built without this architecture; "
                        + "build it with `cargo build --profile jvm -p unjank-jni` and set "
                        + "-Dunjank.rt.library=/absolute/path/"
                        + LIBRARY,
                null);
    }

    static void requireDigest(byte[] content, String digest, String name) {
        try {
            byte[] found = MessageDigest.getInstance("SHA-256").digest(content);
            if (!HexFormat.of().formatHex(found).equals(digest)) {
                throw failure(name + " is not what was built: its SHA-256 differs", null);
            }
        } catch (NoSuchAlgorithmException never) {
            // Every JDK has SHA-256 (MessageDigest).
            throw new AssertionError(never);
        }
    }

    private static FileAttribute<?> permissions(String text) {
        return PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(text));
    }

    private static void remove(Path file) {
        try {
            Files.deleteIfExists(file);
            Files.deleteIfExists(file.getParent());
        } catch (IOException stays) {
            // A file left in a private directory does no harm.
            file.toFile().deleteOnExit();
        }
    }

    private static UnsatisfiedLinkError failure(String message, Throwable cause) {
        UnsatisfiedLinkError error = new UnsatisfiedLinkError(message);
        error.initCause(cause);
        return error;
    }
}
