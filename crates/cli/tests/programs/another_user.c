/* Becomes another user, and forks children that call a function. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static long small(long x) { __asm__ volatile("" : "+r"(x)); return x * 3 + 1; }

int main(void)
{
    small(1);
    if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
    for (int child = 0; child < 3; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (long i = 0; i < 1000; i++) small(i);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) != pid) return 1;
    }
    puts("done");
    return 0;
}
