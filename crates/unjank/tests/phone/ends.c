/* Runs a command, and prints its exit code after its output, on stdout and on
 * stderr. Always succeeds, so the next command is run. */
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
