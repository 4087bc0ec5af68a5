/* Succeeds if as much of its control group's memory is protected as the variable LOW says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *line_of(const char *path, char *line, int size) {
    FILE *file = fopen(path, "r");
    char *read = file ? fgets(line, size, file) : NULL;
    if (file) fclose(file);
    return read ? strtok(line, "\n") : "";
}

int main(void) {
    char own[256], low[64], path[512];
    const char *group = line_of("/proc/self/cgroup", own, sizeof own);
    if (strncmp(group, "0::/unjank-", 11)) return 2;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.low", group + 3);
    return strcmp(line_of(path, low, sizeof low), getenv("LOW")) ? 1 : 0;
}
