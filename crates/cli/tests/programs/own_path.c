/* Prints what a program can find out about its own path. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static const char *last(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
    char link[PATH_MAX], real[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", link, sizeof link - 1);
    link[length < 0 ? 0 : length] = 0;
    printf("argv[0] %s of %d\n", argv[0], argc);
    printf("exe %s\n", link);
    printf("real %s\n", realpath("/proc/self/exe", real));
    snprintf(link, sizeof link, "/proc/%d/exe", (int)getpid());
    printf("by pid %s\n", realpath(link, real));
    printf("executed %s\n", realpath((const char *)getauxval(AT_EXECFN), link));
    Dl_info about;
    printf("invoked as %s, %s\n", program_invocation_name, dladdr((void *)main, &about) ? about.dli_fname : "?");
    const char *name = last(real);
    char *data = malloc(strlen(real) + 6);
    sprintf(data, "%.*sdata", (int)(name - real), real);
    printf("file beside it %s\n", access(data, R_OK) == 0 ? "found" : "missing");
    free(data);
    fflush(stdout);
    /* Once more, by another name. */
    if (argc == 1) execl("/proc/self/exe", "another", "again", (char *)NULL);
    return 0;
}
