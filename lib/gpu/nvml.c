/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - list MIG instances, and find processes that use GPUs */
#include "nvml.h"

#include "nvml_api.h"

#include "lib/base/text.h"

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

/* Return the place in a list as of CUDA_VISIBLE_DEVICES that has the beginning of this UUID;
 * HIDDEN: none. A list that is NULL has all at place 0.
 */
static int place_of(const char *visible, const char *uuid)
{
    int place = 0;

    for (const char *at = visible; at && *at; at += strspn(at, ","), place++) {
        size_t n = strcspn(at, ",");

        if (n > 4 && strncmp(at, uuid, n) == 0)
            return place;
        at += n;
    }
    return visible ? HIDDEN : 0;
}

/* Sort n GPUs by their places in `visible`, and number them. */
static void sort(const char *visible, struct gpu_device *gpu, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i;
             k > 0 && place_of(visible, gpu[k].uuid) < place_of(visible, gpu[k - 1].uuid); k--) {
            struct gpu_device before = gpu[k - 1];

            gpu[k - 1] = gpu[k];
            gpu[k] = before;
        }
    for (int i = 0; i < n; i++)
        gpu[i].ordinal = i;
}

/* Append an instance of a card, or the card itself if d is its own handle, unless it is hidden.
 * Return how many were appended.
 */
static int add(const struct nvml_api *a, nvml_handle card, nvml_handle d, const char *visible,
               struct gpu_device *ret)
{
    struct gpu_device g = { .alone = true };
    struct nvml_memory memory;

    if (a->uuid(d, g.uuid, sizeof g.uuid) != 0 || place_of(visible, g.uuid) == HIDDEN ||
        a->name(d, g.name, sizeof g.name) != 0 || a->memory(d, &memory) != 0)
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

int nvml_list_divided(struct gpu_device *ret, int max)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    struct nvml_api a;
    unsigned cards = 0;
    bool divided = false;
    int n = 0, before;

    if ((visible && strncmp(visible, "GPU-", 4) != 0 && strncmp(visible, "MIG-", 4) != 0) ||
        !nvml_load(&a))
        return 0;
    (void)a.count(&cards);
    for (unsigned i = 0; i < cards && n < max; i++) {
        nvml_handle card, d;

        if (a.by_index(i, &card) != 0)
            continue;
        if (!is_divided(&a, card)) {
            n += add(&a, card, card, visible, &ret[n]);
            continue;
        }
        before = n;
        for (unsigned k = 0; k < MAX_INSTANCES && n < max; k++)
            if (a.instance(card, k, &d) == 0) /* numbers may have gaps */
                n += add(&a, card, d, visible, &ret[n]);
        divided |= n > before;
    }
    (void)a.shutdown();
    sort(visible, ret, n);
    return divided ? n : 0;
}

/* ---- other processes ---- */

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

void nvml_find_users(struct gpu_device *gpu, int n)
{
    struct nvml_api a;

    if (!nvml_load(&a))
        return;
    for (int i = 0; i < n; i++) {
        struct nvml_utilization used = { 0 };
        unsigned pid;
        nvml_handle d;

        if (a.by_uuid(gpu[i].uuid, &d) != 0 || !find_process(&a, d, &pid))
            continue;
        nvml_describe_process(pid, gpu[i].user, sizeof gpu[i].user);
        if (a.utilization(d, &used) == 0) /* not of MIG instances */
            gpu[i].busy_percent = (int)(used.gpu > 100 ? 100 : used.gpu);
    }
    (void)a.shutdown();
}
