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

int main(void)
{
    static const unsigned char code[] = {2, 1, 2, 2, 1, 0};
    int sum = begins(code);
    for (int i = 0; i < 10; i++) sum = sum * 7 % 100003 + comes_back(i) + pushes(i) + gives(i);
    printf("%d %d\n", sum, returns);
    return 0;
}
