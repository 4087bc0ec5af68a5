/* Prints the names in a directory, one on a line. */
#include <dirent.h>
#include <stdio.h>

int main(int argc, char **argv) {
    DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
    struct dirent *entry;
    if (!directory) {
        perror("list");
        return 1;
    }
    while ((entry = readdir(directory)))
        if (entry->d_name[0] != '.') puts(entry->d_name);
    return 0;
}
