/* Has no descriptor left for anybody, calls a short function often, and forks children that do so as well. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned small(unsigned x) { return x * 3 + 1; }

__attribute__((noinline)) static unsigned work(int calls)
{
    unsigned sum = 0;
    for (int i = 0; i < calls; i++) sum += small(sum + i);
    return sum;
}

int main(void)
{
    struct rlimit none = {3, 3};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
    for (int child = 0; child < 3; child++) {
        pid_t pid = fork();
        if (pid == 0) _exit(work(1000) == 0);
        if (pid < 0 || waitpid(pid, NULL, 0) != pid) return 1;
    }
    printf("%u\n", work(2000000));
    return 0;
}
