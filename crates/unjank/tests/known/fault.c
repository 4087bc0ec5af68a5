// The first thread touches every page of a file that is not in memory, or (`swap`) of memory that
// is in swap.
#include "clocks.h"

#include <string.h>
#include <sys/mman.h>

enum { SIZE = 16 << 20, PAGE = 4096 };

static volatile char *dropped_file(const char *name) {
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *block = malloc(1 << 20);
    if (file < 0 || block == NULL) exit(1);
    memset(block, 'x', 1 << 20);
    for (int written = 0; written < SIZE; written += 1 << 20)
        if (write(file, block, 1 << 20) != 1 << 20) exit(1);
    if (fsync(file) != 0 || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0) exit(1);
    char *pages = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
    if (pages == MAP_FAILED) exit(1);
    madvise(pages, SIZE, MADV_RANDOM);
    return pages;
}

static volatile char *swapped_memory(void) {
    char *pages = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) exit(1);
    unsigned state = 1;
    for (int at = 0; at < SIZE; at++) {
        state = state * 1664525 + 1013904223;
        pages[at] = at % PAGE == 0 ? 'x' : (char)(state >> 24);
    }
    // The first round writes them, and leaves them in memory. Once they were touched again, they are
    // mapped and clean, and the next round removes them.
    for (int round = 0; round < 200; round++) {
        static unsigned char there[SIZE / PAGE];
        int left = 0;
        if (madvise(pages, SIZE, MADV_PAGEOUT) != 0) exit(77);
        usleep(20000);
        if (mincore(pages, SIZE, there) != 0) exit(77);
        for (int page = 0; page < SIZE / PAGE; page++) left += there[page] & 1;
        if (left < SIZE / PAGE / 20) return pages;
        for (int page = 0; page < SIZE / PAGE; page++)
            if (there[page] & 1) (void)((volatile char *)pages)[page * PAGE];
    }
    exit(77);
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    int swap = strcmp(arguments[2], "swap") == 0;
    volatile char *pages = swap ? swapped_memory() : dropped_file(arguments[2]);
    unsigned sum = 0;
    struct moment before = now();
    for (int page = 0; page < SIZE; page += PAGE) sum += pages[page];
    part("slept", slept(before, now()));
    return sum == 'x' * (SIZE / PAGE) ? finish(arguments) : 1;
}
