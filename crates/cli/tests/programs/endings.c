/* Ends in the way that its argument names, out of a function that is measured. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) static void work(int rounds)
{
    for (int i = 0; i < rounds; i++)
        sink += i;
}

__attribute__((noinline)) static void end(const char *how)
{
    work(100);
    if (strcmp(how, "exit") == 0)
        exit(7);
    if (strcmp(how, "quick") == 0)
        _exit(9);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "wait") == 0) {
        puts("waiting");
        fflush(stdout);
        for (;;)
            pause();
    }
    sink++;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 1000; i++)
        work(10);
    end(argc > 1 ? argv[1] : "return");
    return 3;
}
