/* Eight functions of which each calls all that are not open: 109,600 call paths, more than a thread has nodes for. Says on the last of these
 * that it is there, and waits there for the end of its input. */
#include <stdio.h>

typedef void function(int);
static function f0, f1, f2, f3, f4, f5, f6, f7;
static function *const volatile all[] = {f0, f1, f2, f3, f4, f5, f6, f7};
static volatile int calls;

__attribute__((always_inline)) static inline void call_others(int open) {
    calls++;
    if (calls == 109601) {
        puts("there");
        fflush(stdout);
        getchar();
    }
    for (int other = 0; other < 8; other++)
        if (!(open >> other & 1)) all[other](open | 1 << other);
}

/* What is done behind the calls keeps the last of them from being a jump. */
#define FUNCTION(name) __attribute__((noinline)) static void name(int open) { call_others(open); calls += 0; }
FUNCTION(f0) FUNCTION(f1) FUNCTION(f2) FUNCTION(f3) FUNCTION(f4) FUNCTION(f5) FUNCTION(f6) FUNCTION(f7)

int main(void) {
    call_others(0);
    return 0;
}
