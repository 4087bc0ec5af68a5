// The first thread writes to a file and waits for the disk.
#include "clocks.h"

#include <string.h>

int main(int count, char **arguments) {
    if (count != 3) return 2;
    struct moment before = now();
    int file = open(arguments[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char *block = malloc(1 << 20);
    if (file < 0 || block == NULL) return 1;
    memset(block, 'x', 1 << 20);
    for (int turn = 0; turn < 24; turn++)
        if (write(file, block, 1 << 20) != 1 << 20 || fsync(file) != 0) return 1;
    part("slept", slept(before, now()));
    return finish(arguments);
}
