/* Rounds of regions of its own: 10, then 20, then 40. Before the second and the third it says so by a file `in1`, `in2` in the directory
 * argv[1], and waits until the file `1`, `2` is there. */
#include <fcntl.h>
#include <stdio.h>
#include <tare.h>
#include <unistd.h>

static char path[4096];

__attribute__((noinline)) static void waits(const char *directory, const char *name)
{
    snprintf(path, sizeof path, "%s/in%s", directory, name);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    snprintf(path, sizeof path, "%s/%s", directory, name);
    for (int is_there = 0; !is_there;) {
        TARE_BEGIN("waiting");
        is_there = access(path, F_OK) == 0 || usleep(1000) != 0;
        TARE_END("waiting");
    }
}

__attribute__((noinline)) static void round_of_work(int level)
{
    TARE_BEGIN("inner region");
    TARE_PARAMETER("level", level);
    TARE_END("inner region");
}

__attribute__((noinline)) static void rounds(int count)
{
    for (int i = 0; i < count; i++) round_of_work(i % 2);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 1;
    rounds(10);
    waits(argv[1], "1");
    rounds(20);
    waits(argv[1], "2");
    rounds(40);
    return 0;
}
