/* Looks at its own code: what moving it changes. `called_from` finds that its caller is elsewhere,
   `sum` that the bytes of `summed` are other ones, `file` that its file has another size. Its path is that of the original. */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

KEEP static int called_from(void *start)
{
    long distance = (char *)__builtin_return_address(0) - (char *)start;
    return distance > 0 && distance < 200;
}
KEEP static int caller(void) { return called_from((void *)caller) + 1; }

KEEP static int summed(int x) { return 3 * x + (x & 77) + 1; }
static unsigned sum(void)
{
    unsigned char code[5];
    memcpy(code, (void *)summed, sizeof code);
    unsigned all = 0;
    for (int i = 0; i < 5; i++) all = 31 * all + code[i];
    return all;
}

KEEP static int harmless(int x) { return x > 2 ? harmless(x - 1) + x : 1; }

int main(int argc, char **argv)
{
    int wrong = 0;
    if (strchr(argv[argc - 1], 'c') && caller() != 2) wrong |= 1;
    printf("%d\n", harmless(5) + summed(2));
    if (strchr(argv[argc - 1], 's')) printf("%u\n", sum());
    if (strchr(argv[argc - 1], 'f')) {
        FILE *file = fopen("/proc/self/exe", "r");
        fseek(file, 0, SEEK_END);
        printf("%ld bytes\n", ftell(file));
    }
    if (strchr(argv[argc - 1], 'p')) {
        char path[4096] = "";
        long length = readlink("/proc/self/exe", path, sizeof path - 1);
        printf("%ld bytes of a path, %s, called by %s\n", length, path, (const char *)getauxval(AT_EXECFN));
    }
    return wrong;
}
