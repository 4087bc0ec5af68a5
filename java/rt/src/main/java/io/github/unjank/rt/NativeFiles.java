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

/** The native library and the program of tasks: found, checked, and taken out of the jar. */
final class NativeFiles {
    static final String LIBRARY = "libunjank_rt.so";
    static final String PROGRAM = "unjank-rt-task";

    /** Machine numbers of ELF files (elf(5)) by the names that directories in the jar have. */
    private static final Map<Integer, String> MACHINES = Map.of(62, "x86_64", 183, "aarch64");

    private NativeFiles() {}

    /** Loads the library that a property names, or the one in the jar. */
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
                            + "); if programs may not run from there, name another directory with"
                            + " -Djava.io.tmpdir, or the library with -Dunjank.rt.library",
                    refused);
        } finally {
            remove(file);
        }
    }

    /** The program of tasks: the one that a property names, or a private copy of the jar's. */
    static Path program() {
        String given = System.getProperty("unjank.rt.task");
        return given == null ? extract(PROGRAM) : trusted(given, "unjank.rt.task");
    }

    /** Removes a private copy when it is not needed any more; a running program goes on. */
    static void removeProgram(Path program) {
        if (System.getProperty("unjank.rt.task") == null) {
            remove(program);
        }
    }

    /** Native code by its path, if nobody but this user and root can have written it. */
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

    /** Refuses what is no native code of this architecture. */
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
     * Copies a file of the jar into a new directory that nobody else can enter, and reads it back:
     * what is run has the digest that was noted when the jar was built.
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
            // In a directory that others may rename, it could become another file.
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
                    "cannot take "
                            + name
                            + " out of the jar into "
                            + System.getProperty("java.io.tmpdir")
                            + ": "
                            + failed
                            + "; -Djava.io.tmpdir names another directory, -Dunjank.rt.library a"
                            + " library",
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
                        + "build it with `cargo build --release -p unjank-jni` and name it with "
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
            // A file too many in a private directory does no harm.
            file.toFile().deleteOnExit();
        }
    }

    private static UnsatisfiedLinkError failure(String message, Throwable cause) {
        UnsatisfiedLinkError error = new UnsatisfiedLinkError(message);
        error.initCause(cause);
        return error;
    }
}
