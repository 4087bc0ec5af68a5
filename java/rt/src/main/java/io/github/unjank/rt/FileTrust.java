package io.github.unjank.rt;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** Checks that only this user and root can write a file or replace it. */
final class FileTrust {
    private static final int WRITABLE_BY_OTHERS = 022;
    private static final int STICKY = 01000;

    private FileTrust() {}

    /** The reason not to trust the file, or null. Its path must have no links. */
    static String whyNot(Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return file + " is not a file";
        }
        for (Path part = file; part != null; part = part.getParent()) {
            int mode = number(part, "unix:mode");
            int owner = number(part, "unix:uid");
            if (owner != 0 && owner != number(Path.of("/proc/self"), "unix:uid")) {
                return part + " belongs to another user (" + owner + ")";
            }
            // In a sticky directory, users can neither remove nor rename files of
            // others (inode(7)); the owner of each part is checked above.
            boolean sticky = part != file && (mode & STICKY) != 0;
            if ((mode & WRITABLE_BY_OTHERS) != 0 && !sticky) {
                return part + " can be written by other users";
            }
        }
        return null;
    }

    private static int number(Path path, String attribute) throws IOException {
        return (Integer) Files.getAttribute(path, attribute);
    }
}
