/* Prints what a program can find out about its own path. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
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

static void print_target(int directory, const char *path)
{
    char link[PATH_MAX];
    ssize_t length = directory < 0 ? readlink(path, link, sizeof link - 1) : readlinkat(directory, path, link, sizeof link - 1);
    link[length < 0 ? 0 : length] = 0;
    printf("%s is %s, %s\n", path, link, directory < 0 ? realpath(path, link) : "");
}

/* The many names of one link. */
static void other_spellings(void)
{
    char before[PATH_MAX], cut[6] = "";
    int self = open("/proc/self", O_RDONLY | O_DIRECTORY), here = open("/proc/self/exe", O_PATH | O_NOFOLLOW);
    print_target(-1, "/proc/thread-self/exe");
    print_target(-1, "/proc//self/./exe");
    print_target(-1, "/proc/self/task/../exe");
    print_target(self, "exe");
    print_target(here, "");
    if (!getcwd(before, sizeof before) || chdir("/proc/self") != 0) return;
    print_target(-1, "exe");
    printf("cut %d %s, of no link %d\n", (int)readlink("exe", cut, sizeof cut - 1), cut, (int)readlink("/proc/self/stat", cut, 1));
    if (chdir(before) != 0) return;
    close(self);
    close(here);
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
    printf("executed %s, %s\n", strchr(argv[0], '/') ? (const char *)getauxval(AT_EXECFN) : "by a bare name",
           realpath((const char *)getauxval(AT_EXECFN), link));
    other_spellings();
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
