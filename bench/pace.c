/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c - LD_PRELOAD: this process computes on a device of a given speed
 *
 * A single-precision matrix product of F operations lasts F / flops + call_s on the wall; sleep
 * fills what the real one leaves.  A step then takes what can be computed from the products that it
 * makes, whatever else the machine does, as long as the real ones are faster:
 *
 *     wall    | product, sleep      | product, sleep | waiting for others | product, sleep
 *     due     +---- F / flops ------+--- F / flops --+      moved on      +--- F / flops ----
 *
 * The moments at which products are due are counted on from one to the next, so that late wake-ups
 * do not add up and what the thread does between two products is a part of the device's time.
 * Waiting is none: a thread that neither runs nor is kept from running by others moves them on, and
 * so does what it is kept from running then, as it had nothing to do that it could be late with.
 * What the device cannot make good, since the real work was kept from running for longer than
 * $PACE_LAG_S, is counted in late_s: then it was not the device that it is said to be.  While it
 * makes good it is faster than it is said to be: where steps are short, so must the lag be.
 *
 * $PACE_DIR/<hostname> is a struct device, mapped, whose first three fields others may write while
 * the program runs.  One thread makes products.  This follows the project's first measurements of
 * re-planning, whose library held back products in the same way.
 */
#include <cblas.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define WAITED_S 0.003  /* between two products: less is not worth a look */
#define SLEEP_S  0.0002 /* the shortest */

/* Read and written by bench/pace.py too. */
struct device {
    double flops, call_s; /* operations a second, 0: as fast as it goes; seconds of each call */
    int64_t core;         /* that the process is bound to */
    int64_t calls, operations;
    double late_s;
};

static struct device *device; /* NULL: none is given to this host */
static double lag_s = 0.25;   /* that products may make good */

static __thread double due_s, left_wall_s, left_processor_s, left_kept_s;
static __thread int waits_fd = -1;

static double clock_s(clockid_t which)
{
    struct timespec t;

    (void)clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bind_to(int64_t core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

__attribute__((constructor)) static void find_device(void)
{
    const char *folder = getenv("PACE_DIR"), *lag = getenv("PACE_LAG_S");
    char host[65] = "", path[4096];
    void *page;
    int fd;

    if (!folder || gethostname(host, sizeof host - 1) < 0)
        return;
    (void)snprintf(path, sizeof path, "%s/%s", folder, host);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    page = mmap(NULL, sizeof *device, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (page == MAP_FAILED)
        return;
    device = page;
    if (lag)
        lag_s = atof(lag);
    bind_to(device->core);
}

/* Time in which this thread could have run and others did; 0 where the kernel does not tell. */
static double kept_waiting_s(void)
{
    char text[96];
    long long ran, waited = 0;
    ssize_t n;

    if (waits_fd < 0)
        waits_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    n = pread(waits_fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "%lld %lld", &ran, &waited) == 2 ? 1e-9 * (double)waited : 0;
}

static void begin(void)
{
    double wall_s = clock_s(CLOCK_MONOTONIC), kept_s = kept_waiting_s() - left_kept_s;
    double ran_s = clock_s(CLOCK_THREAD_CPUTIME_ID) - left_processor_s;
    double still_s = wall_s - left_wall_s - ran_s;

    if (due_s == 0)
        due_s = wall_s;
    else if (still_s - kept_s > WAITED_S)
        due_s += still_s;
    if (due_s < wall_s - lag_s) {
        device->late_s += wall_s - lag_s - due_s;
        due_s = wall_s - lag_s;
    }
}

static void end(int64_t operations)
{
    double left_s;

    due_s += (double)operations / device->flops + device->call_s;
    device->calls++;
    device->operations += operations;
    left_s = due_s - clock_s(CLOCK_MONOTONIC);
    if (left_s > SLEEP_S) {
        struct timespec t = { .tv_sec = (time_t)left_s };

        t.tv_nsec = (long)(1e9 * (left_s - (double)t.tv_sec));
        (void)nanosleep(&t, NULL);
    }
    left_wall_s = clock_s(CLOCK_MONOTONIC);
    left_processor_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
    left_kept_s = kept_waiting_s();
}

/* The BLAS's own, which the one below takes the place of. */
static __typeof__(cblas_sgemm) *real_one(void)
{
    static __typeof__(cblas_sgemm) *found;

    if (!found)
        *(void **)&found = dlsym(RTLD_NEXT, "cblas_sgemm");
    return found;
}

__attribute__((visibility("default"))) void
cblas_sgemm(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb, blasint m,
            blasint n, blasint k, float alpha, const float *a, blasint lda, const float *b,
            blasint ldb, float beta, float *c, blasint ldc)
{
    int paced = device && device->flops > 0;

    if (paced)
        begin();
    real_one()(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if (paced)
        end(2 * (int64_t)m * n * k);
}
