/* Loads a library that uses OpenMP for itself, which it does not. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    void *library = dlopen("./libteam.so", RTLD_NOW | RTLD_LOCAL);
    if (library) printf("%d members\n", ((int (*)(void))dlsym(library, "members"))());
    return !library;
}
