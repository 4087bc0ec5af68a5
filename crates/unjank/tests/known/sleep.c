// The first thread sleeps until a moment.
#include "clocks.h"

int main(int count, char **arguments) {
    if (count != 2) return 2;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += 1;
    end.tv_nsec /= 1000;
    end.tv_nsec *= 1000;
    struct moment before = now();
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    part("slept", slept(before, now()));
    return finish(arguments);
}
