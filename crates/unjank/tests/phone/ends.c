/* Runs a command, and tells its exit code where its output ends, on stdout and
 * on stderr. Succeeds whatever that code is, so that the next one is run. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int status;
    if (argc < 2) return 2;
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("ends");
        return 1;
    }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    printf("\036%d\n", code);
    fprintf(stderr, "\036%d\n", code);
    return 0;
}
