#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) void in_child(void) { sink++; }

static long use(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW);
    if (!plugin) {
        puts(dlerror());
        return -1;
    }
    long (*entry)(long) = (long (*)(long))dlsym(plugin, "entry");
    for (int i = 0; i < 10; i++) sink += entry(i) > 0;
    return dlclose(plugin);
}

/* With an argument, plugins are named without a path. */
int main(int count, char **words)
{
    (void)words;
    for (int i = 0; i < 10; i++)
        if (use(count > 1 ? "plugin1.so" : "./plugin1.so") || use(count > 1 ? "plugin2.so" : "./plugin2.so")) return 1;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 7; i++) in_child();
        return 0;
    }
    int status;
    waitpid(child, &status, 0);
    puts("done");
    return status;
}
