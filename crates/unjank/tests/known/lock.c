// The first thread waits for a mutex, whose holder computes (the default), sleeps, or waits for a
// third thread, which computes.
#include "clocks.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t near = PTHREAD_MUTEX_INITIALIZER, far = PTHREAD_MUTEX_INITIALIZER;
static int held[2];
static pid_t holder, third;
static const char *mode;

static void *compute_with_far(void *nothing) {
    third = gettid();
    pthread_mutex_lock(&far);
    if (write(held[1], "f", 1) != 1) exit(1);
    compute(200 * MILLISECOND);
    pthread_mutex_unlock(&far);
    // The CPU clock of a thread is readable only while the thread exists.
    pause();
    return nothing;
}

static void *hold_near(void *nothing) {
    holder = gettid();
    pthread_mutex_lock(&near);
    if (write(held[1], "n", 1) != 1) exit(1);
    if (strcmp(mode, "chain") == 0) {
        pthread_mutex_lock(&far);
        pthread_mutex_unlock(&far);
    } else if (strcmp(mode, "sleeps") == 0) {
        usleep(500000);
    } else {
        compute(200 * MILLISECOND);
    }
    pthread_mutex_unlock(&near);
    pause();
    return nothing;
}

static void begin(void *(*of)(void *)) {
    pthread_t thread;
    char byte;
    if (pthread_create(&thread, NULL, of, NULL) != 0) exit(1);
    if (read(held[0], &byte, 1) != 1) exit(1);
}

static nanos computed_by_others(void) {
    nanos sum = clock_now(clock_of_thread(holder));
    return third == 0 ? sum : sum + clock_now(clock_of_thread(third));
}

int main(int count, char **arguments) {
    mode = count > 2 ? arguments[2] : "computes";
    int chain = strcmp(mode, "chain") == 0;
    if (count < 2 || pipe(held) != 0) return 2;
    if (chain) begin(compute_with_far);
    begin(hold_near);
    nanos others = computed_by_others();
    struct moment before = now();
    pthread_mutex_lock(&near);
    struct moment after = now();
    others = computed_by_others() - others;
    part("slept", slept(before, after));
    part("others-computed", others);
    part("others-waited", slept(before, after) - others);
    return finish(arguments);
}
