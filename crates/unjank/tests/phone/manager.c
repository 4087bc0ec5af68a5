/* Becomes the context manager of a binder device, like servicemanager on a
 * phone: answers pings, and refuses every other call. Runs a command meanwhile,
 * and ends with its exit code.
 *
 * manager DEVICE COMMAND...
 *
 * Or calls a context manager: pings it 20 times.
 *
 * manager --ping DEVICE */
#include <errno.h>
#include <fcntl.h>
#include <linux/android/binder.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PING B_PACK_CHARS('_', 'P', 'N', 'G')

struct answer {
    uint32_t free_buffer;
    binder_uintptr_t buffer;
    uint32_t reply;
    struct binder_transaction_data data;
} __attribute__((packed));

struct call {
    uint32_t transaction;
    struct binder_transaction_data data;
} __attribute__((packed));

struct release {
    uint32_t free_buffer;
    binder_uintptr_t buffer;
} __attribute__((packed));

static int device;

static void give_up(const char *what) {
    perror(what);
    exit(1);
}

/* Writes commands, and reads returns into `into` if that has room. */
static size_t exchange(const void *commands, size_t size, void *into, size_t room) {
    struct binder_write_read both = {
        .write_size = size, .write_buffer = (binder_uintptr_t)commands,
        .read_size = room, .read_buffer = (binder_uintptr_t)into,
    };
    if (ioctl(device, BINDER_WRITE_READ, &both)) give_up("BINDER_WRITE_READ");
    return both.read_consumed;
}

static void answer(const struct binder_transaction_data *call) {
    int32_t refused = -EBADMSG;
    struct answer answer = {
        .free_buffer = BC_FREE_BUFFER, .buffer = call->data.ptr.buffer, .reply = BC_REPLY,
    };
    if (call->code != PING) {
        answer.data.flags = TF_STATUS_CODE;
        answer.data.data_size = sizeof refused;
        answer.data.data.ptr.buffer = (binder_uintptr_t)&refused;
    }
    exchange(&answer, sizeof answer, NULL, 0);
}

static void serve(void) {
    uint32_t enter = BC_ENTER_LOOPER;
    exchange(&enter, sizeof enter, NULL, 0);
    for (;;) {
        char returns[1024];
        size_t size = exchange(NULL, 0, returns, sizeof returns);
        for (size_t at = 0; at < size;) {
            uint32_t code;
            memcpy(&code, returns + at, sizeof code);
            at += sizeof code;
            if (code == BR_TRANSACTION) {
                struct binder_transaction_data call;
                memcpy(&call, returns + at, sizeof call);
                answer(&call);
            }
            at += _IOC_SIZE(code);
        }
    }
}

/* Opens a device. */
static void begin(const char *path) {
    device = open(path, O_RDWR | O_CLOEXEC);
    if (device < 0) give_up(path);
    if (mmap(NULL, 1 << 17, PROT_READ, MAP_PRIVATE, device, 0) == MAP_FAILED) give_up("mmap");
}

/* Calls the context manager, and waits for its reply. */
static void ping(void) {
    struct call call = {.transaction = BC_TRANSACTION, .data = {.code = PING}};
    size_t size = sizeof call;
    for (;;) {
        char returns[1024];
        size_t read = exchange(&call, size, returns, sizeof returns);
        size = 0;
        for (size_t at = 0; at < read;) {
            uint32_t code;
            memcpy(&code, returns + at, sizeof code);
            at += sizeof code;
            if (code == BR_FAILED_REPLY || code == BR_DEAD_REPLY) exit(1);
            if (code == BR_REPLY) {
                struct binder_transaction_data reply;
                memcpy(&reply, returns + at, sizeof reply);
                struct release done = {BC_FREE_BUFFER, reply.data.ptr.buffer};
                exchange(&done, sizeof done, NULL, 0);
                return;
            }
            at += _IOC_SIZE(code);
        }
    }
}

int main(int argc, char **argv) {
    int ready[2], status;
    char byte;
    if (argc == 3 && strcmp(argv[1], "--ping") == 0) {
        begin(argv[2]);
        for (int call = 0; call < 20; call++) ping();
        return 0;
    }
    if (argc < 3 || pipe(ready)) give_up("manager");
    pid_t server = fork();
    if (server == 0) {
        begin(argv[1]);
        if (ioctl(device, BINDER_SET_CONTEXT_MGR, 0)) give_up("BINDER_SET_CONTEXT_MGR");
        if (write(ready[1], "", 1) != 1) give_up("write");
        serve();
    }
    close(ready[1]);
    if (server < 0 || read(ready[0], &byte, 1) != 1) give_up("manager");
    pid_t command = fork();
    if (command == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (command < 0 || waitpid(command, &status, 0) != command) give_up("waitpid");
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
