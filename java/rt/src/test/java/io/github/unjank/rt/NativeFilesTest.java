package io.github.unjank.rt;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;

/** Native code that is refused, and the messages. */
class NativeFilesTest {
    @TempDir Path dir;

    private static final String RESOURCE =
            "native/linux-" + NativeFiles.architecture() + "/" + NativeFiles.LIBRARY;

    /** A copy of the library that may be loaded. */
    private Path library(Path file) throws Exception {
        try (InputStream in = NativeFiles.class.getResourceAsStream(RESOURCE)) {
            Files.copy(in, file);
        }
        allow(file, "rwxr-xr-x");
        return file;
    }

    private static void allow(Path path, String permissions) throws Exception {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
    }

    private static String refusal(Path file) {
        return assertThrows(
                        UnsatisfiedLinkError.class,
                        () -> NativeFiles.trusted(file.toString(), "unjank.rt.library"))
                .getMessage();
    }

    @Test
    void aLibraryOfThisUserIsLoadedFromItsPath() throws Exception {
        Path library = library(dir.resolve("it.so"));
        ChildJvm.Answer answer =
                new ChildJvm().option("-Dunjank.rt.library=" + library).run("thread-id");
        assertTrue(answer.text().matches("(?s).*thread \\d+\\s*"), answer.text());
    }

    @Test
    void aLibraryThatOthersCanWriteIsRefused() throws Exception {
        Path library = library(dir.resolve("it.so"));
        allow(library, "rwxrwxrwx");
        assertTrue(refusal(library).contains(library + " can be written by other users"));
        allow(library, "rwxr-xr-x");
        assertEquals(library.toRealPath(), NativeFiles.trusted(library.toString(), "x"));
    }

    @Test
    void aForgedLibraryInAWorldWritableDirectoryIsRefused() throws Exception {
        Path open = Files.createDirectory(dir.resolve("open"));
        Path library = library(open.resolve("libunjank_rt.so"));
        allow(open, "rwxrwxrwx");
        assertTrue(refusal(library).contains(open + " can be written by other users"));
        // Not through a link either.
        Path link = Files.createSymbolicLink(dir.resolve("link.so"), library);
        assertTrue(refusal(link).contains("can be written by other users"));
        ChildJvm.Answer answer =
                new ChildJvm().option("-Dunjank.rt.library=" + library).run("thread-id");
        assertEquals(1, answer.exit());
        assertTrue(answer.text().contains("can be written by other users"), answer.text());
    }

    @Test
    void aLibraryOfAnotherUserIsRefused() throws Exception {
        Needs.root();
        Path library = library(dir.resolve("it.so"));
        Files.setAttribute(library, "unix:uid", 4_321);
        assertTrue(refusal(library).contains("belongs to another user (4321)"));
    }

    @Test
    void aFileThatIsNotALibraryIsNamed() throws Exception {
        assertTrue(refusal(Path.of("it.so")).contains("not an absolute path"));
        assertTrue(refusal(dir.resolve("absent.so")).contains("cannot read"));
        assertTrue(refusal(dir).contains("is not a file"));
        Path text = Files.writeString(dir.resolve("text.so"), "not a library, though long enough");
        assertTrue(refusal(text).contains("no ELF header"));
        Path brief = Files.writeString(dir.resolve("brief.so"), "\177ELF");
        assertTrue(refusal(brief).contains("no ELF header"));
    }

    @Test
    void anotherArchitectureIsNamed() throws Exception {
        Path library = library(dir.resolve("it.so"));
        byte[] content = Files.readAllBytes(library);
        boolean onX86 = NativeFiles.architecture().equals("x86_64");
        content[18] = (byte) (onX86 ? 183 : 62);
        Files.write(library, content);
        String other = onX86 ? "aarch64" : "x86_64";
        String expected =
                "is for " + other + ", and this JVM runs on " + NativeFiles.architecture();
        assertTrue(refusal(library).contains(expected), refusal(library));
        content[18] = (byte) 243;
        Files.write(library, content);
        assertTrue(refusal(library).contains("is for machine 243"));
    }

    @Test
    void aTruncatedOrForgedFileInTheJarIsRefused() throws Exception {
        Path classes = copyOfClasses();
        Path packed = classes.resolve("io/github/unjank/rt").resolve(RESOURCE);
        byte[] content = Files.readAllBytes(packed);
        Files.write(packed, java.util.Arrays.copyOf(content, content.length / 2));
        assertSays(classes, "is not what was built: its SHA-256 differs");
        content[content.length - 1] ^= 1;
        Files.write(packed, content);
        assertSays(classes, "is not what was built: its SHA-256 differs");
        Files.delete(packed.resolveSibling(NativeFiles.LIBRARY + ".sha256"));
        assertSays(classes, "built without this architecture");
        Files.delete(packed);
        assertSays(classes, "built without this architecture");
    }

    @Test
    void aTemporaryDirectoryThatOthersCanRenameInIsRefused() throws Exception {
        Path open = Files.createDirectory(dir.resolve("tmp"));
        allow(open, "rwxrwxrwx");
        ChildJvm.Answer answer = new ChildJvm().option("-Djava.io.tmpdir=" + open).run("thread-id");
        assertEquals(1, answer.exit());
        assertTrue(answer.text().contains(open + " can be written by other users"), answer.text());
        try (Stream<Path> left = Files.list(open)) {
            // The JVM itself may have put its own directory there.
            assertEquals(0, left.filter(path -> path.toString().contains("unjank-rt-")).count());
        }
    }

    @Test
    void aProgramThatMayNotRunIsNamed() throws Exception {
        Path program = library(dir.resolve("task"));
        allow(program, "rw-r--r--");
        ChildJvm.Answer answer =
                new ChildJvm().option("-Dunjank.rt.task=" + program).run("task-process");
        assertEquals(1, answer.exit());
        String expected = "IllegalStateException: cannot start " + program;
        assertTrue(answer.text().contains(expected), answer.text());
        assertTrue(answer.text().contains("-Djava.io.tmpdir"), answer.text());
    }

    @Test
    void nothingIsLeftInTheTemporaryDirectory() throws Exception {
        Path tmp = Files.createDirectory(dir.resolve("tmp"));
        ChildJvm.Answer answer = new ChildJvm().option("-Djava.io.tmpdir=" + tmp).run("thread-id");
        assertEquals(0, answer.exit(), answer.text());
        try (Stream<Path> left = Files.list(tmp)) {
            assertEquals(0, left.filter(path -> path.toString().contains("unjank-rt-")).count());
        }
    }

    private void assertSays(Path classes, String expected) throws Exception {
        Path tests =
                Path.of(
                        ChildMain.class
                                .getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .toURI());
        ChildJvm.Answer answer = new ChildJvm().classPath(classes, tests).run("thread-id");
        assertEquals(1, answer.exit());
        assertTrue(answer.text().contains(expected), answer.text());
    }

    private Path copyOfClasses() throws Exception {
        Path from =
                Path.of(
                        NativeFiles.class
                                .getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .toURI());
        Path to = dir.resolve("classes");
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                Path copy = to.resolve(from.relativize(file).toString());
                Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
            }
        }
        return to;
    }
}
