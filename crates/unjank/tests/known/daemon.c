// A daemon in the old way: it forks twice, leaves session and process group, and its parents end. It
// listens on the port given a while later.
#include "clocks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static void leave_parent(void) {
    pid_t child = fork();
    if (child < 0) exit(1);
    if (child > 0) _exit(0);
}

int main(int count, char **words) {
    if (count < 3) return 2;
    leave_parent();
    setsid();
    leave_parent();
    usleep(1500000);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(words[2]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listens = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listens, (struct sockaddr *)&address, sizeof address) != 0 || listen(listens, 8) != 0)
        return 1;
    for (;;) pause();
}
