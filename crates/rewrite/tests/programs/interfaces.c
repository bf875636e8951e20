// Small libraries with the entry points of measurement systems. They check that what is entered is left in turn and that
// handles are theirs, and say at the end what they saw, in the order of the first visit.
//
// Signatures: GCC's manual (-finstrument-functions); Score-P, SCOREP_User_Functions.h; TAU, TauAPI.h and TauCAPI.cpp.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct region {
    char name[1024];
    long visits;
};

static struct region regions[1000];
static int count;
static long wrong;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct region *stack[100000];
static __thread int depth;

static struct region *region_named(const char *name) {
    pthread_mutex_lock(&lock);
    int at = 0;
    while (at < count && strcmp(regions[at].name, name)) at++;
    if (at == count) snprintf(regions[count++].name, sizeof regions[0].name, "%s", name);
    pthread_mutex_unlock(&lock);
    return &regions[at];
}

// Changes what a called function may change.
static void clobber(void) {
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0; movdqa %%xmm0, %%xmm1; movdqa %%xmm0, %%xmm2; movdqa %%xmm0, %%xmm7;"
                     "movdqa %%xmm0, %%xmm8; movdqa %%xmm0, %%xmm15"
                     ::: "xmm0", "xmm1", "xmm2", "xmm7", "xmm8", "xmm15", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

static void enter(struct region *region) {
    __atomic_fetch_add(&region->visits, 1, __ATOMIC_RELAXED);
    stack[depth++] = region;
    clobber();
}

// Score-P and TAU end the program where something ends that is not the innermost.
static void leave(struct region *region) {
    if (depth == 0 || stack[--depth] != region) abort();
    clobber();
}

static struct region *function_at(void *function) {
    Dl_info info;
    if (!dladdr(function, &info) || info.dli_saddr != function) {
        wrong++;
        return region_named("?");
    }
    return region_named(info.dli_sname);
}

#ifdef CYG_PROFILE
// The call comes from the program or from the C library.
static void *caller_of[10000];

void __cyg_profile_func_enter(void *function, void *caller) {
    Dl_info info;
    if (!dladdr(caller, &info)) wrong++;
    if (depth < 10000) caller_of[depth] = caller;
    enter(function_at(function));
}

void __cyg_profile_func_exit(void *function, void *caller) {
    leave(function_at(function));
    if (caller_of[depth] != caller) wrong++;
}
#endif

#ifdef SCOREP
void SCOREP_User_RegionBegin(struct region **handle, const char **last_name, uint32_t *last_file, const char *name, uint32_t type,
                             const char *file, uint32_t line) {
    int is_inside = !strncmp(name, "loop ", 5) || strstr(name, " calls ");
    if (last_name || last_file || (type == 1) == is_inside) wrong++;
    if (!*handle) {
        char full[1024];
        const char *base = strrchr(file, '/');
        snprintf(full, sizeof full, "%s@%s:%u", name, base ? base + 1 : file, line);
        *handle = region_named(full);
    }
    enter(*handle);
}

void SCOREP_User_RegionEnd(struct region *handle) { leave(handle); }
#endif

#ifdef TAU
// A node without number writes nothing; threads are made known, by each image that they come to. The first thread is from the start.
static int node = -1;
static __thread int is_known;

int Tau_get_node(void) { return node; }

void Tau_set_node(int number) {
    if (node != -1 || number != 0) wrong++;
    node = number;
}

void Tau_register_thread(void) { is_known = 1; }

void Tau_create_top_level_timer_if_necessary(void) {
    if (!is_known) wrong++;
}

void Tau_profile_c_timer(void **timer, const char *name, const char *type, unsigned long group, const char *group_name) {
    if (*type || group != 0x80000000ul || strncmp(group_name, "TAU_", 4)) wrong++;
    if (!*timer) *timer = region_named(name);
}

void Tau_lite_start_timer(void *timer, int phase) {
    if (phase || node != 0) wrong++;
    enter(timer);
}

void Tau_lite_stop_timer(void *timer) { leave(timer); }
#endif

__attribute__((destructor)) static void say(void) {
    FILE *out = getenv("SEEN") ? fopen(getenv("SEEN"), "w") : stdout;
    for (int at = 0; at < count; at++) fprintf(out, "%s %ld\n", regions[at].name, regions[at].visits);
    fprintf(out, "wrong %ld open %d\n", wrong, depth);
    fclose(out);
}
