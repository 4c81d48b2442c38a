/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - list MIG instances, and find who uses GPUs */
#include "nvml.h"

#include "nvml_api.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIG_ENABLED = 1, MAX_INSTANCES = 16, HIDDEN = -1 };

/* ---- MIG ---- */

/* Check whether the card is divided by MIG. */
static bool is_divided(const struct nvml_api *a, nvml_handle card)
{
    unsigned mode = 0, pending;

    return a->mig_mode(card, &mode, &pending) == 0 && mode == MIG_ENABLED;
}

/* Return the place in a list as of CUDA_VISIBLE_DEVICES that has the beginning of this UUID or the
 * number of its card; HIDDEN: none. A list that is NULL has all at place 0.
 */
static int place_of(const char *visible, int card, const char *uuid)
{
    int place = 0;

    for (const char *at = visible; at && *at; at += strspn(at, ","), place++) {
        size_t n = strcspn(at, ",");

        if (n > 4 ? strncmp(at, uuid, n) == 0 : isdigit((unsigned char)*at) && atoi(at) == card)
            return place;
        at += n;
    }
    return visible ? HIDDEN : 0;
}

/* Sort n GPUs, whose ordinals are the numbers of their cards, by their places in `visible`, and
 * number them.
 */
static void sort(const char *visible, struct gpu_device *gpu, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && place_of(visible, gpu[k].ordinal, gpu[k].uuid) <
                                     place_of(visible, gpu[k - 1].ordinal, gpu[k - 1].uuid);
             k--) {
            struct gpu_device before = gpu[k - 1];

            gpu[k - 1] = gpu[k];
            gpu[k] = before;
        }
    for (int i = 0; i < n; i++)
        gpu[i].ordinal = i;
}

/* Append an instance of the card with this number, or the card itself if d is its own handle,
 * unless it is hidden. Return how many were appended.
 */
static int add(const struct nvml_api *a, int number, nvml_handle d, const char *visible,
               struct gpu_device *ret)
{
    struct gpu_device g = { .alone = true, .ordinal = number };
    struct nvml_memory memory;
    nvml_handle card;

    if (a->uuid(d, g.uuid, sizeof g.uuid) != 0 || place_of(visible, number, g.uuid) == HIDDEN ||
        a->name(d, g.name, sizeof g.name) != 0 || a->memory(d, &memory) != 0 ||
        a->by_index((unsigned)number, &card) != 0)
        return 0;
    nvml_pci_text(a, card, g.pci, sizeof g.pci);
    if (!g.pci[0])
        return 0;
    g.uuid[sizeof g.uuid - 1] = g.name[sizeof g.name - 1] = '\0';
    text_strip_control(g.name);
    g.memory_bytes = (int64_t)memory.total;
    *ret = g;
    return 1;
}

/* Append a card, or its instances, to ret [max], without those that are hidden, and set *divided if
 * there are instances. Return how many were appended.
 */
static int add_card(const struct nvml_api *a, int number, const char *visible, bool *divided,
                    struct gpu_device *ret, int max)
{
    nvml_handle card, d;
    int n = 0;

    if (a->by_index((unsigned)number, &card) != 0)
        return 0;
    if (!is_divided(a, card))
        return add(a, number, card, visible, ret);
    for (unsigned k = 0; k < MAX_INSTANCES && n < max; k++)
        if (a->instance(card, k, &d) == 0) /* numbers may have gaps */
            n += add(a, number, d, visible, &ret[n]);
    *divided |= n > 0;
    return n;
}

/* Check whether the first of n > 0 cards, by which CUDA numbers them, is NVML's first, and so on:
 * CUDA sorts them by speed unless CUDA_DEVICE_ORDER asks for NVML's order.
 */
static bool has_order_of_cuda(const struct nvml_api *a, unsigned n)
{
    const char *order = getenv("CUDA_DEVICE_ORDER");
    char first[96] = "", name[96] = "";
    nvml_handle card;

    if (order && strcmp(order, "PCI_BUS_ID") == 0)
        return true;
    for (unsigned i = 0; i < n; i++)
        if (a->by_index(i, &card) != 0 || a->name(card, i ? name : first, sizeof name) != 0 ||
            (i && strcmp(name, first) != 0))
            return false;
    return true;
}

/* Check whether a list as of CUDA_VISIBLE_DEVICES has numbers alone. */
static bool is_numbers(const char *visible)
{
    return visible && *visible && !visible[strspn(visible, "0123456789,")];
}

/* Check whether one of n GPUs has this UUID. */
static bool is_among(const char *uuid, const struct gpu_device *gpu, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(gpu[i].uuid, uuid) == 0)
            return true;
    return false;
}

int nvml_list_divided(const char *shown, struct gpu_device *ret, int max)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    bool numbers = is_numbers(visible), divided = false;
    struct nvml_api a;
    unsigned cards = 0;
    int n = 0;

    if ((visible && !numbers && strncmp(visible, "GPU-", 4) != 0 &&
         strncmp(visible, "MIG-", 4) != 0) ||
        !nvml_load(&a))
        return 0;
    (void)a.count(&cards);
    if (numbers && !has_order_of_cuda(&a, cards))
        cards = 0;
    for (unsigned i = 0; i < cards && n < max; i++)
        n += add_card(&a, (int)i, visible, &divided, &ret[n], max - n);
    (void)a.shutdown();
    if (!divided || (numbers && !is_among(shown, ret, n)))
        return 0;
    sort(visible, ret, n);
    return n;
}

/* ---- other processes ---- */

/* Results of NVML for a GPU that is gone, fell off the bus, or needs a reset; two compute modes */
enum { NOT_FOUND = 6, LOST = 15, NEEDS_RESET = 16, UNKNOWN = 999 };
enum { EXCLUSIVE_THREAD = 1, EXCLUSIVE_PROCESS = 3 };

/* Name of the process of the Multi-Process Service, as far as the kernel keeps it */
#define MPS_SERVER "(nvidia-cuda-mps"

/* Time in which NVML forgets work that has ended, and between two looks */
#define SETTLED_NS (1500 * CLOCK_MS)
#define AGAIN_NS   (100 * CLOCK_MS)

/* Store in *ret the first process that uses a GPU. Return false if there is none, or if it is
 * unknown, or this process.
 */
static bool find_process(const struct nvml_api *a, nvml_handle d, unsigned *ret)
{
    unsigned pid[NVML_MAX_PROCESSES];
    int n = nvml_processes(a, d, pid);

    *ret = n > 0 ? pid[0] : 0;
    return n > 0 && pid[0] != (unsigned)getpid();
}

/* Check whether the GPU is in a mode in which one process has it. */
static bool is_exclusive(const struct nvml_api *a, nvml_handle d)
{
    int mode = 0;

    return a->compute_mode && a->compute_mode(d, &mode) == 0 &&
           (mode == EXCLUSIVE_PROCESS || mode == EXCLUSIVE_THREAD);
}

/* Write the first process that draws on a GPU to ret. Return false if there is none, or if it is
 * unknown.
 */
static bool find_graphics(const struct nvml_api *a, nvml_handle d, char *ret, size_t size)
{
    unsigned pid[NVML_MAX_PROCESSES];
    char name[64];

    if (nvml_graphics(a, d, pid) <= 0)
        return false;
    nvml_describe_process(pid[0], name, sizeof name);
    (void)snprintf(ret, size, "%.48s, for graphics", name);
    return true;
}

/* Look at one GPU. Return false if it computes for a process that NVML does not list: one of
 * another container, or one that has just ended.
 */
static bool look_at(const struct nvml_api *a, struct gpu_device *g)
{
    struct nvml_utilization used = { 0 };
    bool listed;
    unsigned pid;
    nvml_handle d;
    int result = a->by_uuid(g->uuid, &d);

    g->user[0] = '\0';
    g->busy_percent = 0;
    g->taken = false;
    g->lost = result == NOT_FOUND || result == LOST || result == NEEDS_RESET || result == UNKNOWN;
    if (result != 0)
        return true;
    listed = find_process(a, d, &pid);
    if (listed)
        nvml_describe_process(pid, g->user, sizeof g->user);
    g->taken = listed && is_exclusive(a, d) && !strstr(g->user, MPS_SERVER);
    result = a->utilization(d, &used); /* not of MIG instances */
    g->lost = result == LOST || result == NEEDS_RESET;
    if (result == 0)
        g->busy_percent = (int)(used.gpu > 100 ? 100 : used.gpu);
    if (listed || g->busy_percent < GPU_BUSY_PERCENT)
        return true;
    if (find_graphics(a, d, g->user, sizeof g->user)) { /* NVML counts that work, too */
        g->busy_percent = 0;
        return true;
    }
    (void)snprintf(g->user, sizeof g->user, "a process that NVML does not list");
    return false;
}

/* Look at n GPUs. Return false if look_at does for one. */
static bool look_at_all(const struct nvml_api *a, struct gpu_device *gpu, int n)
{
    bool ret = true;

    for (int i = 0; i < n; i++)
        ret &= look_at(a, &gpu[i]);
    return ret;
}

bool nvml_find_users(struct gpu_device *gpu, int n)
{
    int64_t until_ns = clock_now_ns() + SETTLED_NS;
    struct nvml_api a;

    if (!nvml_load(&a))
        return false;
    while (!look_at_all(&a, gpu, n) && clock_now_ns() < until_ns)
        clock_sleep_until_ns(clock_now_ns() + AGAIN_NS);
    (void)a.shutdown();
    return true;
}
