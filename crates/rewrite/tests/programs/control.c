/* Ways of control that a C program has: switches, computed gotos, tail calls, recursion, callbacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int descending(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }

NOINLINE int dense(int x)
{
    switch (x) {
    case 0: return 5;
    case 1: return printf("one\n");
    case 2: return 7 * x;
    case 3: return x ^ 3;
    case 4: return abs(x - 9);
    case 5: printf("five\n"); /* fall through */
    case 6: return 12 + x;
    case 7: return dense(x - 1) + 1;
    case 9: return 3;
    default: return -1;
    }
}

NOINLINE long interpret(const unsigned char *program)
{
    static const void *const labels[] = {&&add, &&twice, &&jump, &&halt, &&negate};
    long value = 1;
    int budget = 40;
#define NEXT goto *labels[*program++]
    NEXT;
add: value += *program++; NEXT;
twice: value *= 2; NEXT;
negate: value = -value; NEXT;
jump:
    if (--budget > 0) program -= *program;
    else program++;
    NEXT;
halt: return value;
}

/* The same by distances from a label, in two tables, as glibc's vfprintf. */
NOINLINE long interpret_distances(const unsigned char *program)
{
    static const int plain[] = {&&add - &&halt, &&twice - &&halt, &&jump - &&halt, &&halt - &&halt, &&negate - &&halt};
    static const int turned[] = {&&negate - &&halt, &&halt - &&halt, &&jump - &&halt, &&twice - &&halt, &&add - &&halt};
    long value = 1;
    int budget = 40;
    goto *(&&halt + plain[*program++]);
add: value += *program++; goto *(&&halt + turned[*program++]);
twice: value *= 2; goto *(&&halt + plain[*program++]);
negate: value = -value; goto *(&&halt + plain[*program++]);
jump:
    if (--budget > 0) program -= *program;
    else program++;
    goto *(&&halt + plain[*program++]);
halt: return value;
}

NOINLINE int is_odd(unsigned n);
NOINLINE int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1); }
NOINLINE int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1); }

NOINLINE unsigned long fibonacci(int n) { return n < 2 ? (unsigned long)n : fibonacci(n - 1) + fibonacci(n - 2); }
NOINLINE int leaf(int a, int b) { int s = 0; for (int i = 0; i < a; i++) s += i * b; return s; }
NOINLINE int empty(void) { return 0; }
NOINLINE void nothing(void) { __asm__ volatile(""); }

NOINLINE int sum(int count, ...)
{
    va_list list;
    va_start(list, count);
    int total = 0;
    for (int i = 0; i < count; i++) total += va_arg(list, int);
    va_end(list);
    return total;
}

NOINLINE double mixed(int count, ...)
{
    va_list list;
    va_start(list, count);
    double total = 0;
    for (int i = 0; i < count; i++) total += i % 2 ? va_arg(list, double) : va_arg(list, int);
    va_end(list);
    return total;
}

typedef int (*chosen)(const void *, const void *);
NOINLINE chosen choose(int which) { return which ? ascending : descending; }
NOINLINE int self(void *me) { return me == (void *)self; }
NOINLINE int conditional_tail(int x) { if (x > 3) return leaf(x, 2); return x; }
NOINLINE int through_pointer(int (*f)(int, int), int x) { return f(x, 4); }

static jmp_buf mark;
NOINLINE void jump_out(int depth) { if (depth == 0) longjmp(mark, 42); jump_out(depth - 1); nothing(); }
NOINLINE int jumps(void) { int got = setjmp(mark); if (got == 0) jump_out(5); return got; }

NOINLINE int variable(int n) { char room[n + 1]; memset(room, 'x', (size_t)n); room[n] = 0; return (int)strlen(room); }
NOINLINE int loop_at_start(int n) { do { n = n / 2; } while (n > 1); return n; }

int main(int argc, char **argv)
{
    (void)argv;
    int values[] = {5, 3, 8, 1, 9, 2, 7, 4};
    for (int which = 0; which < 2; which++) {
        qsort(values, 8, sizeof *values, choose(which));
        for (int i = 0; i < 8; i++) printf("%d ", values[i]);
        printf("%d\n", choose(which) == ascending);
    }
    for (int i = -1; i < 11; i++) printf("%d ", dense(i));
    const unsigned char program[] = {0, 3, 1, 4, 0, 7, 2, 5, 3};
    printf("\n%ld\n", interpret(program));
    const unsigned char other[] = {0, 3, 0, 0, 9, 4, 5, 2, 5, 1, 3};
    printf("%ld\n", interpret_distances(other));
    printf("%d %d %lu %d\n", is_even(1000), is_odd(7), fibonacci(18), leaf(argc * 10, 3));
    printf("%d %.3f %d\n", sum(4, 1, 2, 3, 4), mixed(4, 1, 2.5, 3, 4.25), self((void *)self));
    for (int i = 0; i < 6; i++) printf("%d %d ", conditional_tail(i), through_pointer(leaf, i));
    printf("\n%d %d %d\n", variable(100), loop_at_start(1000), empty());
    nothing();
#ifdef JUMPS
    printf("%d\n", jumps());
#endif
    return 3;
}
