// A server on a local socket that computes for each byte, on a CPU that another process hogs. It
// ends when its standard input does.
#include "clocks.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

static void *end_with_input(void *nothing) {
    char byte;
    while (read(0, &byte, 1) > 0) {}
    exit(0);
    return nothing;
}

int main(int count, char **arguments) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (count != 2 || strlen(arguments[1]) >= sizeof address.sun_path) return 2;
    strcpy(address.sun_path, arguments[1]);
    int listens = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listens, (struct sockaddr *)&address, sizeof address) != 0 || listen(listens, 8) != 0)
        return 1;
    stay_on_cpu();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == 1) _exit(0);
        for (;;) __asm__ volatile("");
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_with_input, NULL) != 0) return 1;
    puts("serves");
    fflush(stdout);
    for (;;) {
        int client = accept(listens, NULL, NULL);
        char byte;
        while (read(client, &byte, 1) == 1) {
            compute(40 * MILLISECOND);
            if (write(client, &byte, 1) != 1) break;
        }
        close(client);
    }
}
