/* Regions, parameters and phases that a program names itself, for Tareweight.

   A program that includes this header links and runs without Tareweight: it looks the runtime up when it starts, and
   every call does nothing where there is none. Before glibc 2.34, link with -ldl.

       TARE_BEGIN("solve");                 a region, up to ...
       TARE_END("solve");                   ... here, in the same function; names are the same everywhere
       TARE_PARAMETER("level", 3);          what is below ran with this value; ends with the region around
       TARE_PARAMETER_TEXT("grid", name);
       TARE_PHASE_BEGIN("warm-up"); TARE_PHASE_END("warm-up");
       TARE_RECORD(0); TARE_RECORD(1);      from here on nothing is recorded; and again it is
       TARE_SCOPE("solve");                 C++: a region up to the end of the block

   Defining TARE_DISABLE before the header is included leaves nothing of all this in the program. */
#ifndef TARE_H
#define TARE_H

#ifndef TARE_DISABLE

#include <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of the runtime. */
struct tare_api_table {
    unsigned version, size;
    unsigned (*region)(unsigned kind, const char *name, const char *file, unsigned line);
    void (*begin)(unsigned region);
    void (*end)(unsigned region);
    void (*parameter)(const char *name, const char *value);
    void (*parameter_number)(const char *name, long long value);
    void (*record)(unsigned on);
};

static const struct tare_api_table *tare_found_;

/* A region ends in the function in which it began: what begins one is a part of the function that asks for it, also where nothing is
 * optimised, and has no hooks of its own. */
#define TARE_WITHIN_ __attribute__((always_inline, no_instrument_function, unused)) static inline

__attribute__((constructor, unused, no_instrument_function)) static void tare_find_(void)
{
    /* The first argument is RTLD_DEFAULT, which some headers hide. */
    void *found = dlsym((void *)0, "tare_api");
    if (found) {
        union { void *object; const struct tare_api_table *(*function)(void); } get;
        get.object = found;
        tare_found_ = get.function();
    }
}

/* Threads may meet here for the first time at once: all get the same number. */
TARE_WITHIN_ unsigned tare_region_(unsigned *id, unsigned kind, const char *name, const char *file, unsigned line)
{
    unsigned known = __atomic_load_n(id, __ATOMIC_RELAXED);
    if (!known) {
        known = tare_found_->region(kind, name, file, line);
        __atomic_store_n(id, known, __ATOMIC_RELAXED);
    }
    return known;
}

TARE_WITHIN_ void tare_begin_(unsigned *id, unsigned kind, const char *name, const char *file, unsigned line)
{
    if (__builtin_expect(!tare_found_, 1)) return;
    tare_found_->begin(tare_region_(id, kind, name, file, line));
}

TARE_WITHIN_ void tare_end_(unsigned *id, unsigned kind, const char *name, const char *file, unsigned line)
{
    if (__builtin_expect(!tare_found_, 1)) return;
    tare_found_->end(tare_region_(id, kind, name, file, line));
}

TARE_WITHIN_ void tare_parameter_(const char *name, long long value)
{
    if (tare_found_) tare_found_->parameter_number(name, value);
}

TARE_WITHIN_ void tare_parameter_text_(const char *name, const char *value)
{
    if (tare_found_) tare_found_->parameter(name, value);
}

TARE_WITHIN_ void tare_record_(unsigned on)
{
    if (tare_found_) tare_found_->record(on);
}

#ifdef __cplusplus
}

struct tare_scope_ {
    unsigned *id;
    __attribute__((always_inline, no_instrument_function)) tare_scope_(unsigned *at, const char *name, const char *file, unsigned line) : id(at) { tare_begin_(at, 0, name, file, line); }
    __attribute__((always_inline, no_instrument_function)) ~tare_scope_() { if (tare_found_) tare_found_->end(__atomic_load_n(id, __ATOMIC_RELAXED)); }
};
#define TARE_JOIN2_(a, b) a##b
#define TARE_JOIN_(a, b) TARE_JOIN2_(a, b)
/* Several scopes may stand on a line, as where a macro of the program's has them. */
#define TARE_SCOPE_(name, number) \
    static unsigned TARE_JOIN_(tare_id_, number); \
    tare_scope_ TARE_JOIN_(tare_scope_, number)(&TARE_JOIN_(tare_id_, number), name, __FILE__, __LINE__)
#define TARE_SCOPE(name) TARE_SCOPE_(name, __COUNTER__)
#endif

#define TARE_BEGIN(name) do { static unsigned tare_id_; tare_begin_(&tare_id_, 0, name, __FILE__, __LINE__); } while (0)
#define TARE_END(name) do { static unsigned tare_id_; tare_end_(&tare_id_, 0, name, __FILE__, __LINE__); } while (0)
#define TARE_PHASE_BEGIN(name) do { static unsigned tare_id_; tare_begin_(&tare_id_, 1, name, __FILE__, __LINE__); } while (0)
#define TARE_PHASE_END(name) do { static unsigned tare_id_; tare_end_(&tare_id_, 1, name, __FILE__, __LINE__); } while (0)
#define TARE_PARAMETER(name, value) tare_parameter_(name, value)
#define TARE_PARAMETER_TEXT(name, value) tare_parameter_text_(name, value)
#define TARE_RECORD(on) tare_record_(on)

#else

#define TARE_BEGIN(name) ((void)0)
#define TARE_END(name) ((void)0)
#define TARE_PHASE_BEGIN(name) ((void)0)
#define TARE_PHASE_END(name) ((void)0)
#define TARE_PARAMETER(name, value) ((void)0)
#define TARE_PARAMETER_TEXT(name, value) ((void)0)
#define TARE_RECORD(on) ((void)0)
#define TARE_SCOPE(name) ((void)0)

#endif
#endif
