// The first thread computes on a CPU that another process hogs.
#include "clocks.h"

#include <signal.h>
#include <sys/prctl.h>

int main(int count, char **arguments) {
    if (count != 2) return 2;
    stay_on_cpu();
    pid_t hog = fork();
    if (hog == 0) {
        prctl(PR_SET_NAME, "known-hog");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) __asm__ volatile("");
    }
    compute(300 * MILLISECOND);
    kill(hog, SIGKILL);
    return finish(arguments);
}
