// A thread that is not the first executes a program, which takes over the id of the first.
#include "clocks.h"

#include <pthread.h>

static void *execute(void *arguments) {
    char **words = arguments;
    compute(50 * MILLISECOND);
    execl(words[2], words[2], words[1], NULL);
    exit(1);
}

int main(int count, char **arguments) {
    pthread_t thread;
    if (count != 3 || pthread_create(&thread, NULL, execute, arguments) != 0) return 2;
    pthread_join(thread, NULL);
    return 1;
}
