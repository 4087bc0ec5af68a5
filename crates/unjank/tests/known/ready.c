// The first thread waits for the end of another, which computes and then makes the program ready:
// it prints a line (`stdout`), notifies its service manager (`notify`), or listens on the port that
// follows (`port`). With `handed` the first thread computes as well, and hands over to the other.
#include "clocks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_handed;
static char **arguments;
static struct moment of_first;

static void notify(void) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || strlen(path) >= sizeof address.sun_path) exit(1);
    strcpy(address.sun_path, path);
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + strlen(path);
    if (path[0] == '@') address.sun_path[0] = 0;
    int sends = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (sendto(sends, "READY=1", 7, 0, (struct sockaddr *)&address, length) != 7) exit(1);
}

static void listen_on(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listens = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listens, (struct sockaddr *)&address, sizeof address) != 0 || listen(listens, 8) != 0)
        exit(1);
}

static void *get_ready(void *nothing) {
    struct moment before = now();
    pthread_mutex_lock(&mutex);
    while (!is_handed) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    compute(200 * MILLISECOND);
    int file = open_report(arguments);
    struct moment after = now();
    nanos computed = after.computed - before.computed;
    nanos waited = after.waited - before.waited;
    finish_with(file, computed + of_first.computed, waited + of_first.waited);
    if (strcmp(arguments[2], "stdout") == 0) {
        if (write(1, "it is ready\n", 12) != 12) exit(1);
    } else if (strcmp(arguments[2], "notify") == 0) {
        notify();
    } else {
        listen_on(arguments[3]);
    }
    pause();
    return nothing;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    arguments = words;
    int hands = strcmp(words[count - 1], "handed") == 0;
    is_handed = !hands;
    pthread_t thread;
    of_first = now();
    if (pthread_create(&thread, NULL, get_ready, NULL) != 0) return 1;
    if (hands) {
        compute(150 * MILLISECOND);
        pthread_mutex_lock(&mutex);
        is_handed = 1;
        of_first = now();
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    pthread_join(thread, NULL);
    return 1;
}
