/* Hooks that keep the stack of open frames of each thread, and close those that were skipped. At the end of the process they say how
   many frames were entered, left, skipped, and left though they were not open. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEEPEST = 4096 };
struct frame { long region; unsigned long stack; };
static __thread struct frame frames[DEEPEST];
static __thread int open;
static atomic_long entered, left, skipped, wrong;

/* Stacks grow down: what stands below is gone. */
static void close_below(unsigned long stack) {
    while (open && frames[open - 1].stack < stack) open--, skipped++;
}

void frame_begins(long region, unsigned long stack) {
    close_below(stack);
    /* In the place of a frame that is gone; a tail call was told as an exit before. */
    if (open && frames[open - 1].stack == stack) open--, skipped++;
    if (open < DEEPEST) frames[open++] = (struct frame){region, stack};
    entered++;
}

void frame_ends(long region, unsigned long stack) {
    close_below(stack);
    if (open && frames[open - 1].stack == stack && frames[open - 1].region == region) open--, left++;
    else wrong++;
}

__attribute__((destructor)) static void finish(void) {
    FILE *file = getenv("SEEN") ? fopen(getenv("SEEN"), "w") : NULL;
    if (!file) return;
    close_below(-1ul);
    fprintf(file, "%ld %ld %ld %ld\n", entered, left, skipped, wrong);
    fclose(file);
}
