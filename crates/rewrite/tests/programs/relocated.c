/* Functions by hand with absolute addresses, which the loader writes into position-independent programs. */
#include <stdio.h>

int data = 5;

__attribute__((noinline)) int relocated(int more) {
    int *place;
    __asm__("movabs $data, %0" : "=r"(place));
    return *place + more;
}

__attribute__((noinline)) int beside(int more) { return data * more; }

int main(void) {
    printf("%d %d\n", relocated(2), beside(3));
    return 0;
}
