// Writes to 32 MiB twice, page by page, with content that no page shares with another.
#include <stdlib.h>

int main(void) {
    const long size = 32 << 20, page = 4096;
    volatile char *memory = malloc(size);
    if (!memory) return 1;
    for (int round = 0; round < 2; round++)
        for (long at = 0; at < size; at += page)
            *(volatile long *)(memory + at) += at + 1;
    return 0;
}
