// The first thread waits for the kernel's lock of a file, into which another thread writes. Both are
// on one CPU: a thread spins for such a lock while its holder runs.
#include "clocks.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const size_t LENGTH = 128 << 20;
static char *block;
static int file;
static pid_t writer;

static void *write_much(void *nothing) {
    writer = gettid();
    if (write(file, block, LENGTH) != (ssize_t)LENGTH) exit(1);
    // The CPU clock of a thread is readable only while the thread exists.
    pause();
    return nothing;
}

static off_t length(void) {
    struct stat of;
    if (fstat(file, &of) != 0) exit(1);
    return of.st_size;
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    stay_on_cpu();
    file = memfd_create("data", MFD_CLOEXEC);
    block = malloc(LENGTH);
    pthread_t thread;
    if (file < 0 || block == NULL) return 1;
    memset(block, 'x', LENGTH);
    if (pthread_create(&thread, NULL, write_much, NULL) != 0) return 1;
    while (length() == 0) {}
    nanos others = clock_now(clock_of_thread(writer));
    struct moment before = now();
    if (pwrite(file, "y", 1, 0) != 1) return 1;
    struct moment after = now();
    others = clock_now(clock_of_thread(writer)) - others;
    part("slept", slept(before, after));
    part("others-computed", others);
    part("others-waited", slept(before, after) - others);
    return finish(arguments);
}
