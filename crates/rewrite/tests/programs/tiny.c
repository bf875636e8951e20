/* Most functions are a jump: nothing of them is left to be overwritten. */
#include <stdlib.h>
#define TINY(n) long tiny##n(void) { return random(); }
TINY(1) TINY(2) TINY(3) TINY(4) TINY(5) TINY(6) TINY(7) TINY(8) TINY(9)
long larger(long x) { return random() / (x + 3) + random() % (x + 7); }
int main(void) { return (int)(larger(tiny1()) & 0); }
