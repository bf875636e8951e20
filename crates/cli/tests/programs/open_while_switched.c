/* Two calls of one function, each until the file of its number in the directory argv[1] is there. Says that
 * it is in a call by a file `in1`, `in2`. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static char path[4096];

__attribute__((noinline)) static int is_there(const char *directory, const char *name)
{
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

__attribute__((noinline)) static int step(const char *directory, const char *name)
{
    int times = 0;
    snprintf(path, sizeof path, "%s/in%s", directory, name);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    while (!is_there(directory, name))
        times += usleep(1000) == 0;
    return times;
}

int main(int argc, char **argv)
{
    return argc == 2 && step(argv[1], "1") + step(argv[1], "2") >= 0 ? 0 : 1;
}
