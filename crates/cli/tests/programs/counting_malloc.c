/* A library of its own kind that counts, to hold others against: calls and bytes asked for go to stderr at the end of each process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
static long calls, bytes;

static void *counted(void *place, size_t size)
{
    if (place) {
        __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&bytes, size, __ATOMIC_RELAXED);
    }
    return place;
}
void *malloc(size_t size) { return counted(__libc_malloc(size), size); }
void *calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size), count * size); }
void *realloc(void *place, size_t size) { return counted(__libc_realloc(place, size), size); }
void *aligned_alloc(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size), size); }
void free(void *place) { __libc_free(place); }

__attribute__((destructor)) static void end(void)
{
    char text[100];
    int length = snprintf(text, sizeof text, "counted %ld calls %ld bytes\n", calls, bytes);
    if (write(2, text, length) != length) abort();
}
