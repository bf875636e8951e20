/* Plugins that four threads with small stacks open, call and close at once, and one that is opened each time at another place. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { THREADS = 4, ROUNDS = 1500, PLACES = 1000, STACK = 64 << 10 };

/* Opens a plugin, calls it, closes it, and says where it was. */
static uintptr_t use(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW);
    if (!plugin) {
        puts(dlerror());
        exit(1);
    }
    long (*entry)(long) = (long (*)(long))dlsym(plugin, "entry");
    entry(1);
    dlclose(plugin);
    return (uintptr_t)entry;
}

static void *storm(void *number)
{
    for (int i = 0; i < ROUNDS; i++) use((i + (intptr_t)number) % 2 ? "./plugin1.so" : "./plugin2.so");
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], &small, storm, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < PLACES; i++) {
        uintptr_t page = use("./plugin1.so") & ~(uintptr_t)4095;
        if (mmap((void *)page, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED) return 2;
    }
    puts("done");
    return 0;
}
