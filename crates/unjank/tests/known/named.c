// It computes in a function whose symbol has marks of direction and a character without width.
#include "clocks.h"

void work(void) __asm__("evil\u202e\u2066\u200b");

__attribute__((noinline)) void work(void) {
    nanos end = clock_now(CLOCK_THREAD_CPUTIME_ID) + 100 * MILLISECOND;
    while (clock_now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int left = 1000000; left > 0; left--)
            ;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    work();
    return finish(arguments);
}
