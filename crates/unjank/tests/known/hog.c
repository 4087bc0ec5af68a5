// The first thread computes on a CPU that another process hogs.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static double cpu_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pid_t hog = fork();
    if (hog == 0) {
        prctl(PR_SET_NAME, "known-hog");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) __asm__ volatile("");
    }
    while (cpu_time() < 0.3) __asm__ volatile("");
    kill(hog, SIGKILL);
    return 0;
}
