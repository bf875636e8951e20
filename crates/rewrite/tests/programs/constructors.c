/* A library that says when it begins and ends; with -DMAIN the program that uses it. */
#include <stdio.h>

#ifdef MAIN
int works(int);
int main(void) { return works(4); }
#else
__attribute__((constructor(101))) void begins(void) { puts("begins"); }
__attribute__((constructor)) void goes_on(void) { puts("goes on"); }
__attribute__((destructor(101))) void ends(void) { puts("ends"); }
int works(int x) { return x * 2; }
#endif
