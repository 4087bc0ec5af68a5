// The first thread asks a child to compute: over a pipe, a socket pair (`sockets`), TCP over
// loopback (`tcp`), or a pseudo-terminal (`terminal`), which a work queue of the kernel serves.
#include "clocks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>

enum { REQUESTS = 4 };

struct end {
    int receives, sends;
};

static void connect_over_tcp(struct end *parent, struct end *child) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    int listens = socket(AF_INET, SOCK_STREAM, 0), asks = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listens, (struct sockaddr *)&address, length) != 0 || listen(listens, 1) != 0 ||
        getsockname(listens, (struct sockaddr *)&address, &length) != 0 ||
        connect(asks, (struct sockaddr *)&address, length) != 0)
        exit(1);
    int answers = accept(listens, NULL, NULL), yes = 1;
    setsockopt(asks, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(answers, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    *parent = (struct end){asks, asks};
    *child = (struct end){answers, answers};
}

static void connect_by(const char *mode, struct end *parent, struct end *child) {
    int there[2], back[2];
    if (strcmp(mode, "tcp") == 0) {
        connect_over_tcp(parent, child);
    } else if (strcmp(mode, "terminal") == 0) {
        struct termios raw;
        if (openpty(&there[0], &there[1], NULL, NULL, NULL) != 0) exit(1);
        tcgetattr(there[1], &raw);
        cfmakeraw(&raw);
        tcsetattr(there[1], TCSANOW, &raw);
        *parent = (struct end){there[0], there[0]};
        *child = (struct end){there[1], there[1]};
    } else if (strcmp(mode, "sockets") == 0) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, there) != 0) exit(1);
        *parent = (struct end){there[0], there[0]};
        *child = (struct end){there[1], there[1]};
    } else {
        if (pipe(there) != 0 || pipe(back) != 0) exit(1);
        *parent = (struct end){back[0], there[1]};
        *child = (struct end){there[0], back[1]};
    }
}

static void serve(struct end end) {
    char byte;
    while (read(end.receives, &byte, 1) == 1) {
        compute(40 * MILLISECOND);
        if (write(end.sends, &byte, 1) != 1) return;
    }
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    struct end parent, child;
    connect_by(count > 2 ? arguments[2] : "pipe", &parent, &child);
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(child);
        _exit(0);
    }
    nanos asleep = 0, others = 0;
    for (int request = 0; request < REQUESTS; request++) {
        char byte = 'x';
        if (write(parent.sends, &byte, 1) != 1) return 1;
        // What the child has computed meanwhile did not delay this thread.
        struct moment before = now();
        nanos computed = clock_now(clock_of_process(server));
        if (read(parent.receives, &byte, 1) != 1) return 1;
        asleep += slept(before, now());
        others += clock_now(clock_of_process(server)) - computed;
    }
    part("slept", asleep);
    part("others-computed", others);
    part("others-waited", asleep - others);
    return finish(arguments);
}
