// Nested functions of GNU C: they leave the functions around them by `goto`, and come back to these.
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, noclone))

KEEP static void each(void (*visit)(int), int count) {
    for (int i = 0; i < count; i++) visit(i);
}

KEEP int searches(int limit) {
    __label__ out;
    int found = -1;
    void visit(int i) {
        if (i * i > limit) {
            found = i;
            goto out;
        }
    }
    each(visit, 100);
    return -1;
out:
    return found;
}

KEEP int leaves_in_two_ways(int limit) {
    __label__ out, seventh;
    volatile int sum = 0;
    KEEP void visit(int i) {
        sum += i;
        if (i > limit) goto out;
        if (i == 7) goto seventh;
    }
    for (int i = 0; i < 100; i++) visit(i);
    return 1;
out:
    return 100 + sum;
seventh:
    return 1000 + sum;
}

KEEP int comes_back(int count) {
    int sum = 0;
    void add(int i) { sum += i; }
    each(add, count);
    return sum;
}

int main(void) {
    int sum = 0;
    for (int i = 0; i < 20000; i += 100) sum += searches(i);
    for (int i = 0; i < 20; i++) sum += leaves_in_two_ways(i);
    for (int i = 0; i < 20; i++) sum += comes_back(i);
    printf("%d\n", sum);
    return 0;
}
