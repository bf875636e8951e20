/* Functions of known shape; the values are checked by hand against the listing of the compiler. */
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, noclone))

KEEP int straight(int x) { return x * 3 + 1; }
KEEP int calls(int x) { puts("a"); puts("b"); return x; }
KEEP int joined(int x) { int r; if (x > 3) r = puts("a"); else r = puts("bb"); return r + 1; }
KEEP int arms(int x) { if (x > 3) return puts("a"); return puts("bb") + 2; }
KEEP int once(int n) { int s = 0; for (int i = 0; i < n; i++) s += puts("x"); return s; }
KEEP int nested(int n, int m) { int s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s += puts("q"); return s; }
KEEP int twice(int n) { int s = 0; for (int i = 0; i < n; i++) s += puts("x"); for (int i = 0; i < n; i++) s += puts("y"); return s; }
KEEP void fail(const char *text) { puts(text); exit(3); }
KEEP int checked(int x) { if (x < 0) fail("negative"); return x + 1; }
KEEP int choice(int x)
{
    switch (x) {
    case 0: return puts("0");
    case 1: return puts("11");
    case 2: return puts("222") + 1;
    case 3: return puts("333") + 2;
    case 4: return rand();
    case 5: return puts("555") + 7;
    case 6: puts("fall"); /* fall through */
    default: return 9;
    }
}
KEEP int threaded(const unsigned char *code)
{
    static void *const labels[] = {&&add, &&twofold, &&done};
    int s = 0;
    goto *labels[*code++];
add:
    s += 1;
    goto *labels[*code++];
twofold:
    s *= 2;
    goto *labels[*code++];
done:
    return s;
}
KEEP int hand_over(int x) { return joined(x + 1); }
int (*pointer)(int) = straight;
KEEP int through_pointer(int x) { return pointer(x); }
KEEP int even(int n);
KEEP int odd(int n) { return n == 0 ? 0 : even(n - 1); }
KEEP int even(int n) { return n == 0 ? 1 : odd(n - 1); }

int main(int c, char **v)
{
    unsigned char code[] = {0, 1, 0, 2};
    int s = straight(c) + calls(c) + joined(c) + arms(c) + once(c) + nested(c, 2) + twice(c) + checked(c) + choice(c);
    printf("%d\n", s + threaded(code) + hand_over(c) + through_pointer(c) + odd(c));
    return v == 0;
}
