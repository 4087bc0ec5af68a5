// A program that looks like a JVM, whose counters lie in a file that it serves itself (FUSE), and
// never delivers.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FILE_NODE = 2, PAGE = 4096 };

static void answer(int fuse, unsigned long long request, int error, void *body, size_t length) {
    struct fuse_out_header head = {sizeof head + (error ? 0 : length), error, request};
    struct iovec parts[] = {{&head, sizeof head}, {body, length}};
    if (writev(fuse, parts, error || length == 0 ? 1 : 2) < 0) perror("stalls");
}

static struct fuse_attr attributes(unsigned long long node) {
    struct fuse_attr attr = {.ino = node, .nlink = 1, .blksize = PAGE, .size = PAGE};
    attr.mode = node == FILE_NODE ? S_IFREG | 0644 : S_IFDIR | 0755;
    return attr;
}

static void serve(int fuse) {
    static char buffer[1 << 18];
    for (ssize_t length; (length = read(fuse, buffer, sizeof buffer)) > 0;) {
        struct fuse_in_header *asked = (void *)buffer;
        struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = PAGE};
        struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attributes(FILE_NODE)};
        struct fuse_attr_out attr = {.attr = attributes(asked->nodeid)};
        struct fuse_open_out opened = {.fh = 1};
        switch (asked->opcode) {
        case FUSE_INIT: answer(fuse, asked->unique, 0, &init, sizeof init); break;
        case FUSE_LOOKUP: answer(fuse, asked->unique, 0, &entry, sizeof entry); break;
        case FUSE_GETATTR: answer(fuse, asked->unique, 0, &attr, sizeof attr); break;
        case FUSE_OPEN: answer(fuse, asked->unique, 0, &opened, sizeof opened); break;
        case FUSE_READ: case FUSE_FORGET: case FUSE_INTERRUPT: break;
        default: answer(fuse, asked->unique, -38, NULL, 0);
        }
    }
}

static int map(const char *directory, const char *name, int rights, int flags) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int file = open(path, O_RDONLY);
    return file < 0 || mmap(NULL, PAGE, rights, flags, file, 0) == MAP_FAILED;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    // The mount ends with the program.
    if (fuse < 0 || unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL)) return 3;
    char options[80];
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    if (mount("stalls", arguments[1], "fuse", MS_NOSUID | MS_NODEV, options)) return 3;
    pid_t parent = getpid();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) serve(fuse);
        return 0;
    }
    close(fuse);
    if (map(arguments[1], "libjvm.so", PROT_READ | PROT_EXEC, MAP_PRIVATE)) return 4;
    if (map(arguments[1], "hsperfdata_root", PROT_READ, MAP_SHARED)) return 4;
    puts("ready");
    fflush(stdout);
    for (;;) pause();
}
