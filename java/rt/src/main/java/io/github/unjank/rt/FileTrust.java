package io.github.unjank.rt;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** Whether a file can have been written by anybody but this user and root. */
final class FileTrust {
    private static final int WRITABLE_BY_OTHERS = 022;
    private static final int STICKY = 01000;

    private FileTrust() {}

    /** Why the file is not to be trusted, or null; links in its path are resolved already. */
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
            // In a sticky directory, others can neither remove nor rename what
            // is not theirs (inode(7)); a file in it has an owner of its own.
            boolean keeps = part != file && (mode & STICKY) != 0;
            if ((mode & WRITABLE_BY_OTHERS) != 0 && !keeps) {
                return part + " can be written by other users";
            }
        }
        return null;
    }

    private static int number(Path path, String attribute) throws IOException {
        return (Integer) Files.getAttribute(path, attribute);
    }
}
