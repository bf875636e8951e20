// What functions do after an exception that they catch, or after a jump to them, which they time themselves; each says
// how many seconds that was.
#include <csetjmp>
#include <cstdio>
#include <ctime>

static volatile long sink;
static double now(void) { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }

static double work(void)
{
    double begin = now();
    for (int i = 0; i < 200000; i++) sink += i;
    return now() - begin;
}

#define OWN extern "C" __attribute__((noinline, visibility("default")))
static jmp_buf place;
static sigjmp_buf other_place;

OWN void throws(int n) { sink++; if (n >= 0) throw n; }
OWN void between(int n) { throws(n); sink++; }
OWN double catches(int n) { try { between(n); } catch (int) { return work(); } return 0; }
OWN void jumps(int n) { sink++; if (n >= 0) longjmp(place, 1); }
OWN double is_come_to(int n) { if (!setjmp(place)) jumps(n), sink++; return work(); }
OWN void jumps_with_signals(int n) { sink++; if (n >= 0) siglongjmp(other_place, 1); }
OWN double is_come_to_with_signals(int n) { if (!sigsetjmp(other_place, 1)) jumps_with_signals(n), sink++; return work(); }

OWN void lands(void)
{
    double seconds[3] = {0, 0, 0};
    for (int i = 0; i < 50; i++) {
        seconds[0] += catches(i);
        seconds[1] += is_come_to(i);
        seconds[2] += is_come_to_with_signals(i);
    }
    printf("catches %.9f\nis_come_to %.9f\nis_come_to_with_signals %.9f\n", seconds[0], seconds[1], seconds[2]);
    fflush(stdout);
}

#ifndef LIBRARY
int main(void) { lands(); return 0; }
#endif
