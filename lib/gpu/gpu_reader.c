/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_reader.c - read clocks, power, heat, errors and processes of GPUs */
#include "gpu_reader.h"

#include "nvml_api.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/proctree.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Readings for one look at processes, for which all of /proc is read, and at links */
enum { LOOK_EVERY = 5 };

/* A GPU; card: the GPU itself, or the card of an instance of MIG */
struct read_gpu {
    nvml_handle d, card;
    char id[64];
    int64_t xid, xids;
    char pci[16]; /* as in struct gpu_state, from the start */
    int numa;
    int others; /* as in struct gpu_state, from the last look */
    char other[64];
    int nvlinks;
};

struct gpu_reader {
    struct nvml_api api;
    struct read_gpu *gpu; /* [n] */
    int n;
    int64_t reading; /* number of the last reading */
    pid_t job;
    nvml_event_set events; /* NULL: there are none to wait for */
};

/* Begin to wait for critical errors of the cards. */
static void watch_events(struct gpu_reader *r)
{
    const struct nvml_api *a = &r->api;
    int watched = 0;

    if (!a->event_set || !a->event_register || !a->event_wait || a->event_set(&r->events) != 0) {
        r->events = NULL;
        return;
    }
    for (int i = 0; i < r->n; i++)
        watched += a->event_register(r->gpu[i].card, NVML_XID, r->events) == 0;
    if (!watched)
        r->events = NULL;
}

int gpu_reader_open(const char *const *id, int n, pid_t job, struct gpu_reader **ret,
                    struct eddis_error *err)
{
    struct gpu_reader *r = calloc(1, sizeof *r);

    if (r)
        r->gpu = calloc((size_t)n + 1, sizeof *r->gpu);
    if (!r || !r->gpu) {
        gpu_reader_close(r);
        return eddis_fail(err, -ENOMEM, "no memory to read %d GPUs", n);
    }
    r->job = job;
    if (!nvml_load(&r->api)) {
        free(r->gpu);
        free(r);
        return eddis_fail(err, -ENOENT, "NVML is not installed or does not start");
    }
    for (int i = 0; i < n; i++) {
        struct read_gpu *g = &r->gpu[r->n];

        if (r->api.by_uuid(id[i], &g->d) != 0)
            continue;
        if (strncmp(id[i], "MIG-", 4) != 0 || !r->api.parent || r->api.parent(g->d, &g->card) != 0)
            g->card = g->d;
        (void)snprintf(g->id, sizeof g->id, "%s", id[i]);
        nvml_pci_text(&r->api, g->card, g->pci, sizeof g->pci);
        g->numa = nvml_numa(&r->api, g->card);
        r->n++;
    }
    if (r->n == 0) {
        gpu_reader_close(r);
        return eddis_fail(err, -ENOENT, "NVML knows none of the GPUs");
    }
    watch_events(r);
    *ret = r;
    return 0;
}

void gpu_reader_close(struct gpu_reader *r)
{
    if (!r)
        return;
    if (r->api.shutdown)
        (void)r->api.shutdown();
    free(r->gpu);
    free(r);
}

/* ---- one reading ---- */

/* Return a number that NVML gives as unsigned, times `unit`; NAN: it does not. */
static double number(int (*get)(nvml_handle d, unsigned *ret), nvml_handle d, double unit)
{
    unsigned n = 0;

    return get && get(d, &n) == 0 ? n * unit : NAN;
}

/* Return a small count that NVML gives; 0: it does not. */
static int count(int (*get)(nvml_handle d, unsigned *ret), nvml_handle d)
{
    double n = number(get, d, 1);

    return n > 0 && n < 100 ? (int)n : 0;
}

/* Return a clock of the multiprocessors in MHz; NAN: unknown. */
static double clock_of(int (*get)(nvml_handle d, int clock, unsigned *ret), nvml_handle card)
{
    unsigned mhz = 0;

    return get && get(card, NVML_SM, &mhz) == 0 ? mhz : NAN;
}

/* Return why the clock is low. */
static enum gpu_slowed slowed(const struct nvml_api *a, nvml_handle card)
{
    static const struct {
        unsigned long long reasons;
        enum gpu_slowed slowed;
    } row[] = {
        { NVML_HEAT, GPU_SLOWED_HEAT },         { NVML_BRAKE, GPU_SLOWED_BRAKE },
        { NVML_HARDWARE, GPU_SLOWED_HARDWARE }, { NVML_POWER_CAP, GPU_SLOWED_POWER },
        { NVML_SYNC, GPU_SLOWED_SYNC },         { NVML_SET, GPU_SLOWED_SET },
        { NVML_IDLE, GPU_SLOWED_IDLE },
    };
    int (*get)(nvml_handle d, unsigned long long *ret) = a->reasons ? a->reasons : a->reasons_old;
    unsigned long long reasons = 0;

    if (!get || get(card, &reasons) != 0)
        return GPU_SLOWED_NOT;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (reasons & row[i].reasons)
            return row[i].slowed;
    return GPU_SLOWED_NOT;
}

/* Return the number of errors of memory of a type since the driver's start; -1: unknown. */
static int64_t ecc_errors(const struct nvml_api *a, nvml_handle card, int type)
{
    unsigned long long n = 0;

    if (!a->ecc_errors || a->ecc_errors(card, type, NVML_VOLATILE, &n) != 0 || n > INT64_MAX)
        return -1;
    return (int64_t)n;
}

/* Check whether a process is of the job: `job`, one of the n processes below it, or not of this
 * machine's as this process sees it.
 */
static bool is_ours(pid_t job, const struct proctree_process *below, int n, unsigned pid)
{
    if ((pid_t)pid == job || proctree_state((pid_t)pid) == 0)
        return true;
    for (int i = 0; i < n; i++)
        if (below[i].pid == (pid_t)pid)
            return true;
    return false;
}

/* Look which processes outside the job use each GPU. */
static void look_at_processes(struct gpu_reader *r)
{
    cleanup_free struct proctree_process *below = NULL;
    int n = proctree_list(r->job, &below, NULL);

    for (struct read_gpu *g = r->gpu; g < r->gpu + r->n; g++) {
        unsigned pid[NVML_MAX_PROCESSES];
        int all = nvml_processes(&r->api, g->d, pid);

        g->others = all < 0 || n < 0 ? -1 : 0;
        g->other[0] = '\0';
        for (int i = 0; n >= 0 && i < all; i++)
            if (!is_ours(r->job, below, n, pid[i]) && g->others++ == 0)
                nvml_describe_process(pid[i], g->other, sizeof g->other);
    }
}

/* Read one GPU. */
static void read_one(const struct gpu_reader *r, const struct read_gpu *g, struct gpu_state *ret)
{
    const struct nvml_api *a = &r->api;
    struct nvml_utilization used;
    struct nvml_memory memory;
    unsigned celsius = 0;

    *ret = (struct gpu_state){
        .reading = r->reading,
        .xid = g->xid,
        .xids = g->xids,
        .others = g->others,
        .numa = g->numa,
        .nvlinks = g->nvlinks,
    };
    memcpy(ret->id, g->id, sizeof ret->id);
    memcpy(ret->other, g->other, sizeof ret->other);
    memcpy(ret->pci, g->pci, sizeof ret->pci);
    /* of instances of MIG it is unknown */
    ret->busy = a->utilization(g->d, &used) == 0 ? fmin(used.gpu / 100.0, 1) : NAN;
    if (a->memory(g->d, &memory) == 0 && memory.used <= INT64_MAX && memory.total <= INT64_MAX) {
        ret->memory_used_bytes = (int64_t)memory.used;
        ret->memory_bytes = (int64_t)memory.total;
    }
    ret->clock_mhz = clock_of(a->clock, g->card);
    ret->clock_most_mhz = clock_of(a->clock_most, g->card);
    ret->slowed = slowed(a, g->card);
    ret->watts = number(a->power, g->card, 1e-3);
    ret->watts_most = number(a->power_cap, g->card, 1e-3);
    ret->celsius = a->temperature && a->temperature(g->card, 0, &celsius) == 0 ? celsius : NAN;
    ret->ecc_corrected = ecc_errors(a, g->card, NVML_CORRECTED);
    ret->ecc_uncorrected = ecc_errors(a, g->card, NVML_UNCORRECTED);
    ret->pcie_gen = count(a->pcie_gen, g->card);
    ret->pcie_gen_most = count(a->pcie_gen_most, g->card);
    ret->pcie_width = count(a->pcie_width, g->card);
    ret->pcie_width_most = count(a->pcie_width_most, g->card);
}

int gpu_reader_read(struct gpu_reader *r, struct gpu_state *ret)
{
    if (r->reading++ % LOOK_EVERY == 0) {
        look_at_processes(r);
        for (int i = 0; i < r->n; i++)
            r->gpu[i].nvlinks = nvml_active_links(&r->api, r->gpu[i].card);
    }
    for (int i = 0; i < r->n; i++)
        read_one(r, &r->gpu[i], &ret[i]);
    return r->n;
}

void gpu_reader_wait(struct gpu_reader *r, int timeout_ms)
{
    int64_t end_ns = clock_now_ns() + timeout_ms * CLOCK_MS;
    struct nvml_event e = { 0 };
    int rc = r->events ? r->api.event_wait(r->events, &e, (unsigned)timeout_ms) : NVML_TIMEOUT;

    if (rc == 0 && e.type & NVML_XID) {
        for (int i = 0; i < r->n; i++)
            if (r->gpu[i].card == e.device) {
                r->gpu[i].xid = e.data > INT64_MAX ? 0 : (int64_t)e.data;
                r->gpu[i].xids++;
            }
        return;
    }
    if (rc != NVML_TIMEOUT)
        r->events = NULL; /* a failure must not become a busy loop */
    clock_sleep_until_ns(end_ns);
}
