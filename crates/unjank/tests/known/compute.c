// The first thread computes.
#include "clocks.h"

int main(int count, char **arguments) {
    if (count != 2) return 2;
    compute(200 * MILLISECOND);
    return finish(arguments);
}
