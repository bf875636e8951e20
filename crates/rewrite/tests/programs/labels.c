/* Functions that hand out the addresses of their own instructions; others jump there. */
#include <stdio.h>

#ifdef NUMBERS
#define LOAD(label, register) "mov $" #label ", %" #register "\n"
#else
#define LOAD(label, register) "lea " #label "(%rip), %" #register "\n"
#endif
#define APART __attribute__((noinline, noclone))

static void *place[5];
static volatile int returns;

/* Comes back where it was told, out of calls that are open. */
APART static void unwind(int n) { if (!n) __builtin_longjmp(place, 1); unwind(n - 1); returns++; }
APART static int comes_back(int n) { if (__builtin_setjmp(place)) return 2; unwind(n); return 1; }

/* A jump by `push` and `ret`, and one to an address that another function is given. */
int pushes(int), gives(int), takes(int, void *);
__asm__(".text\n.type pushes, @function\npushes: .cfi_startproc\n" LOAD(1f, rax) "push %rax\nadd $4, %edi\nret\n1: mov %edi, %eax\nret\n.cfi_endproc\n"
        ".size pushes, .-pushes\n"
        ".type takes, @function\ntakes: .cfi_startproc\nadd $3, %edi\nnop\njmp *%rsi\n.cfi_endproc\n.size takes, .-takes\n"
        ".type gives, @function\ngives: .cfi_startproc\n" LOAD(1f, rsi) "add $1, %edi\ncall takes\n1: lea (%rdi,%rdi), %eax\npop %rsi\nret\n.cfi_endproc\n"
        ".size gives, .-gives\n");

/* A computed goto whose first target is an entry of its table that is read by itself, where code is not optimised; a label elsewhere. */
APART static int begins(const unsigned char *code)
{
    static void *const table[] = {&&halt, &&add, &&twice};
    int sum = 1;
    void *next = table[1];
    for (;;) {
        goto *next;
    add: sum += 5; next = table[*code++]; continue;
    twice: sum *= 2; next = table[*code++]; continue;
    halt: return sum;
    }
}

/* Entries that are jumped to by themselves. */
APART static int constant(const char *code)
{
    static void *const table[] = {&&add, &&flip, &&halt};
    int sum = 0;
    goto *table[(int)*code++];
add: sum += code[0] + returns; if (!*code) goto *table[2]; goto *table[*code++ % 3];
flip: sum ^= *code; if (*code > 5) goto *table[0]; goto *table[*code++ % 3];
halt: return sum;
}

/* Code that is translated into labels first. */
APART static double runs(const char *source, void **target)
{
    static void *const table[] = {&&add, &&twice, &&halt};
    double sum = 0;
    if (source) { while (*source) *target++ = table[*source++ - 'a']; return 0; }
    void **next = target;
    goto **next++;
add: sum += 1; goto **next++;
twice: sum *= 2; goto **next++;
halt: return sum;
}

/* A table that the program writes. */
APART static int patched(const unsigned char *code, int stop)
{
    static void *table[] = {&&add, &&twice, &&halt};
    int sum = 1;
    if (stop) table[1] = &&trap;
    goto *table[*code++];
add: sum += 4; goto *table[*code++];
twice: sum *= 3; goto *table[*code++];
trap: sum -= stop; goto *table[*code++];
halt: return sum;
}

int main(void)
{
    static void *made[8];
    static const unsigned char code[] = {2, 1, 2, 2, 1, 0};
    static const unsigned char other[] = {0, 1, 0, 1, 2};
    int sum = begins(code) + constant("\0\1\2\0") + constant("\1\7\0\0") + constant("\0\0");
    runs("abbac", made);
    sum += runs(0, made) + patched(other, 0) + patched(other, 1);
    for (int i = 0; i < 10; i++) sum = sum * 7 % 100003 + comes_back(i) + pushes(i) + gives(i);
    printf("%d %d\n", sum, returns);
    return 0;
}
