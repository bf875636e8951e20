// Hardware transactions: begun, ended and given up in functions, loops and a tail call. Prints the same whichever of them fail, and on
// processors that have none.
#include <cpuid.h>
#include <immintrin.h>
#include <stdio.h>

static volatile int lock;
static volatile long counter;

__attribute__((noinline)) static void work(long by) { counter += by; }

// As a mutex elides its lock: what is called in between is a part of the transaction, which ends in another function.
__attribute__((noinline, target("rtm"))) static int elide(void) {
    if (_xbegin() != _XBEGIN_STARTED) {
        lock++;
        return 0;
    }
    if (lock) _xabort(0xff);
    return 1;
}

__attribute__((noinline, target("rtm"))) static void unlock(int is_elided) {
    if (is_elided) _xend(); else lock--;
}

// Whether it failed; where it did nothing is left of it.
__attribute__((noinline, target("rtm"))) static int given_up(long by) {
    if (_xbegin() != _XBEGIN_STARTED) return 1;
    work(by);
    if (by & 1) _xabort(7);
    _xend();
    work(-by);
    return 0;
}

// A transaction that always fails leads back to where it begins, or out of the loop; another one to a function.
long again(long times, volatile long *counter);
long out(long times, volatile long *counter);
long away(long times, volatile long *counter);
long landed(long times);
__attribute__((noinline)) long landed(long times) { return times + 1000; }
__asm__(".text\n"
        ".type again, @function\n"
        "again:\n"
        ".cfi_startproc\n"
        "1: incq (%rsi)\n"
        "   decq %rdi\n"
        "   js 2f\n"
        "   xbegin 1b\n"
        "   incq (%rsi)\n"
        "   xabort $1\n"
        "   xend\n"
        "2: movq (%rsi), %rax\n"
        "   ret\n"
        ".cfi_endproc\n"
        ".size again, . - again\n"
        ".type out, @function\n"
        "out:\n"
        ".cfi_startproc\n"
        "1: incq (%rsi)\n"
        "   xbegin 2f\n"
        "   cmpq $5, (%rsi)\n"
        "   jne 3f\n"
        "   xabort $2\n"
        "3: xend\n"
        "   decq %rdi\n"
        "   jns 1b\n"
        "   movq (%rsi), %rax\n"
        "   ret\n"
        "2: movq $-5, %rax\n"
        "   ret\n"
        ".cfi_endproc\n"
        ".size out, . - out\n"
        ".type away, @function\n"
        "away:\n"
        ".cfi_startproc\n"
        "   xbegin landed\n"
        "   incq (%rsi)\n"
        "   xabort $3\n"
        "   xend\n"
        "   movq (%rsi), %rax\n"
        "   ret\n"
        ".cfi_endproc\n"
        ".size away, . - away\n");

static int can_begin(void) {
    unsigned a, b = 0, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 11 & 1);
}

int main(void) {
    if (!can_begin()) {
        puts("no transactions");
        return 0;
    }
    for (long round = 0; round < 20000; round++) {
        int is_elided = elide();
        work(round);
        unlock(is_elided);
    }
    printf("%d %ld\n", lock, counter);
    long failed = 0;
    for (long round = 0; round < 1000; round++) {
        int is_failed = given_up(round);
        failed += round & is_failed & 1;
    }
    printf("%ld %ld\n", failed, counter);
    long count = 0;
    long seen = again(7, &count);
    printf("%ld %ld\n", seen, count);
    count = 0;
    seen = out(100, &count);
    printf("%ld %d\n", seen, count <= 5);
    count = 0;
    seen = away(5, &count);
    printf("%ld %ld\n", seen, count);
    return 0;
}
