// The first thread joins another, which sleeps.
#include <pthread.h>
#include <unistd.h>

static void *sleeps(void *nothing) {
    usleep(300000);
    return nothing;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleeps, NULL) != 0) return 1;
    return pthread_join(thread, NULL);
}
