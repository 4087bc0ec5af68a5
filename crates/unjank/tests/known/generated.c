// Computes in generated code. The third argument is the name of that code, which it writes into
// `perf-PID.map` in the directory of the second argument. Profilers look for that file in /tmp.
#include "clocks.h"

#include <string.h>
#include <sys/mman.h>

int main(int count, char **arguments) {
    if (count != 4) return 2;
#ifdef __x86_64__
    // Counts down: dec %rdi; jne to the start; ret.
    static const unsigned char code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
#else
    return 77;
    static const unsigned char code[1];
#endif
    char name[4096];
    snprintf(name, sizeof name, "%s/perf-%d.map", arguments[2], getpid());
    void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    // Any user may have put a link there.
    unlink(name);
    FILE *map = fopen(name, "wx");
    if (place == MAP_FAILED || map == NULL) return 1;
    fprintf(map, "%lx %zx %s\n", (unsigned long)place, sizeof code, arguments[3]);
    fclose(map);
    memcpy(place, code, sizeof code);
    nanos end = clock_now(CLOCK_THREAD_CPUTIME_ID) + 100 * MILLISECOND;
    while (clock_now(CLOCK_THREAD_CPUTIME_ID) < end) ((void (*)(unsigned long))place)(1000000);
    return finish(arguments);
}
