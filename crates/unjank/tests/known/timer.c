// The first thread waits for a timer that another thread arms after it has computed.
#include "clocks.h"

#include <pthread.h>
#include <sys/timerfd.h>

static const nanos AFTER = 200000000;

static int timer;
static pid_t other;

static void *arm(void *nothing) {
    other = gettid();
    compute(100 * MILLISECOND);
    struct itimerspec after = {.it_value = {.tv_nsec = AFTER}};
    if (timerfd_settime(timer, 0, &after, NULL) != 0) exit(1);
    // The CPU clock of a thread is readable only while the thread exists.
    pause();
    return nothing;
}

int main(int count, char **arguments) {
    pthread_t thread;
    unsigned long long expirations;
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (count != 2 || timer < 0 || pthread_create(&thread, NULL, arm, NULL) != 0) return 2;
    struct moment before = now();
    if (read(timer, &expirations, sizeof expirations) != sizeof expirations) return 1;
    part("slept", slept(before, now()));
    part("timer", AFTER);
    part("others-computed", clock_now(clock_of_thread(other)));
    return finish(arguments);
}
