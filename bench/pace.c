/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c - LD_PRELOAD library: makes this process compute like a device of a given speed
 *
 * A single-precision matrix product of F operations lasts F / flops + call_s by the clock: the
 * library sleeps for the time that the real product leaves.  So the time of a step can be computed
 * from its products, whatever else the machine does, as long as the real products are faster:
 *
 *     wall    | product, sleep      | product, sleep | waiting for others | product, sleep
 *     due     +---- F / flops ------+--- F / flops --+      moved on      +--- F / flops ----
 *
 * The times at which products are due are counted from one to the next.  So late wake-ups do not
 * add up, and the thread's work between two products is part of the device's time.  Waiting is not
 * part of it: the due time is moved on while the thread neither runs nor is kept from running by
 * others.  It is also moved on by the time for which the thread is kept from running during such a
 * wait, since it had nothing to do then that could be late.
 *
 * If the real work was kept from running for longer than $PACE_LAG_S, the device cannot catch up;
 * this time is counted in late_s, and then the device was slower than given.  While it catches up
 * it is faster than given, so the lag must be short if steps are short.
 *
 * $PACE_DIR/<hostname> is a mapped struct device.  Other programs may write its first three fields
 * while the program runs.  One thread makes products.  The method is that of the project's first
 * measurements of re-planning, whose library delayed products in the same way.
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

#define WAITED_S 0.003  /* shortest gap between two products that counts as waiting */
#define SLEEP_S  0.0002 /* shortest sleep */

/* Layout shared with bench/pace.py. */
struct device {
    double flops, call_s; /* operations per second, 0: not paced; extra seconds of each call */
    int64_t core;         /* core to which the process is bound */
    int64_t calls, operations;
    double late_s; /* time that could not be caught up */
};

static struct device *device; /* NULL: none for this host, nothing is paced */
static double lag_s = 0.25;   /* lateness that products may catch up */

static __thread double due_s, left_wall_s, left_processor_s, left_kept_s;
static __thread int waits_fd = -1;

/* Return the time of a clock in seconds. */
static double clock_s(clockid_t which)
{
    struct timespec t;

    (void)clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Bind this process to one core. */
static void bind_to(int64_t core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

/* Before main: map this host's device, if there is one, and bind the process to its core. */
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

/* Return the seconds for which this thread could have run while others ran; 0 if the kernel does
 * not report it.
 */
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

/* Before a product: move the due time on by the time this thread has waited, and count lateness. */
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

/* After a product of so many operations: sleep until it is due. */
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

/* Return the BLAS library's own cblas_sgemm, which the one below replaces. */
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
