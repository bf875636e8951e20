/* Loads a library of C++ for itself, as interpreters do with their extensions, and again. */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    for (int i = 0; i < 3; i++) {
        void *library = dlopen("./liblandings.so", RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            puts(dlerror());
            return 1;
        }
        ((void (*)(void))dlsym(library, "lands"))();
        dlclose(library);
    }
    return 0;
}
