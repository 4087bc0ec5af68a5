// The first thread touches every page of a file that is not in memory.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 16 << 20, PAGE = 4096 };

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int file = open(arguments[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *block = malloc(1 << 20);
    if (file < 0 || block == NULL) return 1;
    memset(block, 'x', 1 << 20);
    for (int written = 0; written < SIZE; written += 1 << 20)
        if (write(file, block, 1 << 20) != 1 << 20) return 1;
    if (fsync(file) != 0 || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0) return 1;
    volatile char *pages = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
    if (pages == MAP_FAILED) return 1;
    madvise((void *)pages, SIZE, MADV_RANDOM);
    unsigned sum = 0;
    for (int page = 0; page < SIZE; page += PAGE) sum += pages[page];
    return sum == 'x' * (SIZE / PAGE) ? 0 : 1;
}
