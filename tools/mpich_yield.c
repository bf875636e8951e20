/* Lets ranks of MPICH that wait take turns on a processor, as Open MPI's mpi_yield_when_idle does: MPICH asks UCX for
 * progress all the time, and where nothing has come for long, others may run.
 *
 *     cc -O2 -shared -fPIC -o libyield.so tools/mpich_yield.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

enum { IN_VAIN = 200 };

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*real)(void *);
    static _Thread_local unsigned in_vain;
    if (!real)
        real = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned came = real(worker);
    in_vain = came ? 0 : in_vain + 1;
    if (in_vain >= IN_VAIN) {
        in_vain = 0;
        sched_yield();
    }
    return came;
}
