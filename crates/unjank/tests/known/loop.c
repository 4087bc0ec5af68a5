// The first thread reads from a loop device, which a work queue of the kernel serves.
#include "clocks.h"

#include <linux/loop.h>
#include <string.h>
#include <sys/ioctl.h>

enum { SIZE = 32 << 20, BLOCK = 1 << 20 };

int main(int count, char **arguments) {
    if (count != 3) return 2;
    struct moment before = now();
    int file = open(arguments[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *block = aligned_alloc(4096, BLOCK);
    if (file < 0 || block == NULL) return 1;
    memset(block, 'x', BLOCK);
    for (int written = 0; written < SIZE; written += BLOCK)
        if (write(file, block, BLOCK) != BLOCK) return 1;
    int control = open("/dev/loop-control", O_RDWR), device = -1;
    for (int attempt = 0; device < 0 && attempt < 100; attempt++) {
        int number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
        char name[32];
        snprintf(name, sizeof name, "/dev/loop%d", number);
        device = number < 0 ? -1 : open(name, O_RDWR | O_DIRECT | O_CLOEXEC);
        struct loop_config config = {.fd = file, .info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};
        if (device >= 0 && ioctl(device, LOOP_CONFIGURE, &config) != 0) {
            close(device);
            device = -1;
        }
    }
    if (device < 0) return 77;
    for (int turn = 0; turn < 4; turn++)
        for (int at = 0; at < SIZE; at += BLOCK)
            if (pread(device, block, BLOCK, at) != BLOCK) return 1;
    part("slept", slept(before, now()));
    return finish(arguments);
}
