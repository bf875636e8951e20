/* Loops whose number of iterations is known, or not. Each of the first ones says how often its body runs. */
#include <stdio.h>
#include <stdlib.h>
#define KEEP __attribute__((noinline, noclone))
#define HIDE(x) __asm__ volatile("" : "+r"(x) : : "memory")

KEEP long up(long s) { for (int i = 0; i < 100; i++) { HIDE(s); s += 1; } return s; }
KEEP long down(long s) { int i = 50; do { HIDE(s); s += 1; } while (--i != 0); return s; }
KEEP long by_three(long s) { for (int i = 0; i <= 99; i += 3) { HIDE(s); s += 1; } return s; }
KEEP long backward(long s) { for (long i = 77; i >= 0; i--) { HIDE(s); s += 1; } return s; }
KEEP long until(long s) { for (unsigned i = 10; i != 30; i += 2) { HIDE(s); s += 1; } return s; }
KEEP long variable(long s) { int n = 40; for (int i = 0; i < n; ++i) { HIDE(s); s += 1; } return s; }

static long cells[64];
KEEP long walk(long s) { for (int i = 0; i < 64; i++) { s += cells[i]; HIDE(s); } return s; }
KEEP long grid(long s) { for (int i = 0; i < 12; i++) { for (int j = 0; j < 7; j++) { HIDE(s); s += j; } s ^= i; } return s; }
KEEP long found(const int *a, int key) { for (int i = 0; i < 1000; i++) { if (a[i] == key) { return i; } } return -1; }
KEEP long calls(long s) { for (int i = 0; i < 25; i++) { s += rand(); } return s; }

KEEP long given(int n, long s) { for (int i = 0; i < n; i++) { HIDE(s); s += 1; } return s; }
struct node { struct node *next; };
KEEP long list(const struct node *one) { long s = 0; for (; one; one = one->next) { s++; } return s; }
KEEP long shrinking(long n) { long s = 0; while (n > 1) { s += n; HIDE(s); n /= 3; } return s; }
KEEP long doubling(long s) { for (long i = 1; i < 1000000; i *= 2) { HIDE(s); s += 1; HIDE(i); } return s; }
KEEP long sometimes(const int *a, long s) { for (int i = 0; i < 100;) { HIDE(s); s += 1; if (a[s]) { i++; } HIDE(i); } return s; }

int main(int c, char **v)
{
    printf("up %ld\ndown %ld\nby_three %ld\nbackward %ld\nuntil %ld\nvariable %ld\n", up(0), down(0), by_three(0), backward(0), until(0), variable(0));
    if (c > 1) {
        struct node one = {0};
        int many[1000] = {atoi(v[1])};
        printf("%ld %ld\n", walk(c) + grid(c) + found(many, c) + calls(c), given(c, c) + list(&one) + shrinking(c) + doubling(c) + sometimes(many, c));
    }
    return 0;
}
