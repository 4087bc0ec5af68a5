// Again and again, the first thread computes, starts a thread and waits until that has computed.
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

static double cpu_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static volatile unsigned long sink;

__attribute__((noinline)) static void grind(void) {
    double begin = cpu_time();
    while (cpu_time() - begin < 0.02)
        for (int i = 0; i < 10000; i++) sink += i;
}

__attribute__((noinline)) static void first(void) { grind(); }

__attribute__((noinline)) static void *later(void *nothing) {
    grind();
    return nothing;
}

__attribute__((noinline)) static int begin_and_wait(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, later, NULL) != 0) return 1;
    return pthread_join(thread, NULL);
}

int main(void) {
    prctl(PR_SET_PDEATHSIG, 9);
    puts("ready");
    fflush(stdout);
    for (;;) {
        first();
        if (begin_and_wait() != 0) return 1;
    }
}
