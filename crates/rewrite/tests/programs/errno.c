/* Reads errno, in a function that runs before main, too. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int calls;

__attribute__((noinline)) void hook(void) { calls++; }

__attribute__((noinline)) static int number(const char *text) {
    errno = 0;
    long value = strtol(text, NULL, 10);
    return errno ? -1 : (int)value;
}

__attribute__((constructor, noinline)) static void early(void) { errno = 3; }

int main(void) {
    if (calls > 1000000) hook();
    int sum = number("12") + number("30");
    errno = 7;
    number("1");
    errno = 7;
    printf("%d %d\n", sum, errno);
    return 0;
}
