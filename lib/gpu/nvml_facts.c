/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_facts.c - read how GPUs are built in and set up */
#include "gpu.h"

#include "gpu_reader.h"
#include "nvml_api.h"

#include "lib/base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_GPUS = 64, ON = 1 };

#define AGAIN_NS (50 * CLOCK_MS) /* between two looks at a link that may wake up */

/* NVML's numbers for what two GPUs have in common, from below, and words for it */
static const struct {
    int most;
    const char *word;
} ways[] = { { 10, "PIX" }, { 20, "PXB" }, { 30, "PHB" }, { 40, "NODE" }, { 50, "SYS" } };

/* Return power in W; NAN: unknown. */
static double watts(int (*get)(nvml_handle d, unsigned *ret), nvml_handle card)
{
    unsigned mw = 0;

    return get && get(card, &mw) == 0 ? mw * 1e-3 : NAN;
}

/* Raise *ret to what the function gives now. */
static void raise_to(int (*get)(nvml_handle d, unsigned *ret), nvml_handle card, int *ret)
{
    unsigned n = 0;

    if (get && get(card, &n) == 0 && n < 100 && (int)n > *ret)
        *ret = (int)n;
}

/* Read the link of a card; it has most lanes and the highest generation while it is in use. */
static void read_link(const struct nvml_api *a, nvml_handle card, struct gpu_facts *f)
{
    raise_to(a->pcie_gen, card, &f->pcie_gen);
    raise_to(a->pcie_width, card, &f->pcie_width);
}

/* Read what one card is set to. */
static void read_card(const struct nvml_api *a, nvml_handle card, struct gpu_facts *f)
{
    static const char *const modes[] = { "default", "exclusive thread", "prohibited",
                                         "exclusive process" };
    int mode = -1, pending;
    unsigned mig = 0, mig_pending;

    *f = (struct gpu_facts){ .known = 1 };
    raise_to(a->pcie_gen_most, card, &f->pcie_gen_most);
    raise_to(a->pcie_width_most, card, &f->pcie_width_most);
    f->watts_most = watts(a->power_cap, card);
    f->watts_usual = watts(a->power_default, card);
    if (a->compute_mode && a->compute_mode(card, &mode) == 0 && mode >= 0 && mode < 4)
        (void)snprintf(f->compute_mode, sizeof f->compute_mode, "%s", modes[mode]);
    if (a->persistence && a->persistence(card, &mode) == 0)
        (void)snprintf(f->persistence, sizeof f->persistence, mode == ON ? "on" : "off");
    if (a->ecc_mode && a->ecc_mode(card, &mode, &pending) == 0)
        (void)snprintf(f->ecc, sizeof f->ecc, mode == ON ? "on" : "off");
    if (a->mig_mode(card, &mig, &mig_pending) == 0)
        (void)snprintf(f->mig, sizeof f->mig, mig == ON ? "on" : "off");
}

/* Check whether this is the address of one of n cards, and store its index. */
static bool is_card(const struct nvml_pci *pci, int n, const struct nvml_pci *all, int *ret)
{
    for (int i = 0; i < n; i++)
        if (all[i].domain == pci->domain && all[i].bus == pci->bus &&
            all[i].device == pci->device) {
            *ret = i;
            return true;
        }
    return false;
}

/* Count the links of NVLink from a card (NULL: none) to each of n cards, in to[n], and to switches.
 * Return the latter.
 */
static int count_links(const struct nvml_api *a, nvml_handle card, int n,
                       const struct nvml_pci *all, int *to)
{
    int switched = 0;

    memset(to, 0, (size_t)n * sizeof *to);
    for (unsigned link = 0; card && a->link_state && a->link_remote && link < NVML_MAX_LINKS;
         link++) {
        struct nvml_pci remote = { .bus = 0 };
        int active = 0, i;

        if (a->link_state(card, link, &active) != 0 || !active ||
            a->link_remote(card, link, &remote) != 0)
            continue;
        if (is_card(&remote, n, all, &i))
            to[i]++;
        else
            switched++;
    }
    return switched;
}

/* Write the way between two cards without NVLink to ret, as nvidia-smi topo -m names it. */
static void name_way(const struct nvml_api *a, nvml_handle from, nvml_handle to, char ret[8])
{
    int level = -1;

    strcpy(ret, "-");
    if (!a->common_ancestor || a->common_ancestor(from, to, &level) != 0 || level < 0)
        return;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (level <= ways[i].most) {
            strcpy(ret, ways[i].word);
            return;
        }
}

/* Write the ways between n cards to their facts. Those of instances of MIG are unknown. */
static void read_ways(const struct nvml_api *a, const nvml_handle *card, int n,
                      struct gpu_facts *ret)
{
    int to[MAX_GPUS][MAX_GPUS], switched[MAX_GPUS];
    struct nvml_pci pci[MAX_GPUS];

    for (int i = 0; i < n; i++)
        if (!card[i] || a->pci(card[i], &pci[i]) != 0)
            pci[i] = (struct nvml_pci){ .domain = ~0U };
    for (int i = 0; i < n; i++)
        switched[i] = count_links(a, card[i], n, pci, to[i]);
    for (int i = 0; i < n; i++) {
        char *at = ret[i].links, *end = at + sizeof ret[i].links;

        for (int k = 0; k < n && at < end - 8; k++) {
            int links = to[i][k] + (switched[i] < switched[k] ? switched[i] : switched[k]);
            char way[8] = "-";

            if (i == k)
                strcpy(way, "X");
            else if (links > 0 && card[i] && card[k])
                (void)snprintf(way, sizeof way, "NV%d", links % 100);
            else if (card[i] && card[k])
                name_way(a, card[i], card[k], way);
            at += snprintf(at, (size_t)(end - at), "%s%s", k ? " " : "", way);
        }
    }
}

/* Return the handle of a GPU, or of the card of an instance of MIG; NULL: NVML does not know it. */
static nvml_handle card_of(const struct nvml_api *a, const char *uuid)
{
    nvml_handle d, card;

    if (a->by_uuid(uuid, &d) != 0)
        return NULL;
    if (strncmp(uuid, "MIG-", 4) != 0)
        return d;
    return a->parent && a->parent(d, &card) == 0 ? card : NULL;
}

/* Return a reader of the GPUs, for gpu_reader_close; NULL: there is none. */
static struct gpu_reader *open_reader(const struct gpu_device *gpu, int n)
{
    const char *id[MAX_GPUS];
    struct gpu_reader *r;

    for (int i = 0; i < n; i++)
        id[i] = gpu[i].uuid;
    /* The processes that measure are no other ones: the parent has started them. */
    return gpu_reader_open(id, n, getppid(), &r, NULL) == 0 ? r : NULL;
}

/* Read what the GPUs do. Keep how they were used at the first reading: now they are measured. One
 * that has worked keeps that state once it is idle.
 */
static void read_states(struct gpu_reader *r, const struct gpu_device *gpu, int n,
                        struct gpu_facts *ret)
{
    struct gpu_state now[MAX_GPUS];
    int found = r ? gpu_reader_read(r, now) : 0;

    for (int k = 0; k < found; k++)
        for (int i = 0; i < n; i++) {
            struct gpu_state *s = &ret[i].state, before = *s;

            if (strcmp(gpu[i].uuid, now[k].id) != 0)
                continue;
            if (before.reading && before.slowed != GPU_SLOWED_IDLE &&
                now[k].slowed == GPU_SLOWED_IDLE)
                continue;
            *s = now[k];
            if (!before.reading)
                continue;
            s->busy = before.busy;
            s->memory_used_bytes = before.memory_used_bytes;
            s->others = before.others;
            memcpy(s->other, before.other, sizeof s->other);
        }
}

/* Check whether all cards work, and their links are as fast as they can be. */
static bool are_awake(const struct gpu_facts *f, int n)
{
    for (int i = 0; i < n; i++)
        if (f[i].pcie_gen < f[i].pcie_gen_most || f[i].pcie_width < f[i].pcie_width_most ||
            f[i].state.slowed == GPU_SLOWED_IDLE)
            return false;
    return true;
}

int gpu_read_facts(const struct gpu_device *gpu, int n, const volatile int64_t *until_ns,
                   struct gpu_facts *ret)
{
    nvml_handle card[MAX_GPUS], whole[MAX_GPUS] = { NULL };
    struct gpu_reader *reader;
    struct nvml_api a;

    n = n < MAX_GPUS ? n : MAX_GPUS;
    if (!nvml_load(&a))
        return 0;
    for (int i = 0; i < n; i++) {
        ret[i] = (struct gpu_facts){ .known = 0 };
        card[i] = card_of(&a, gpu[i].uuid);
        whole[i] = strncmp(gpu[i].uuid, "GPU-", 4) == 0 ? card[i] : NULL;
        if (card[i])
            read_card(&a, card[i], &ret[i]);
    }
    read_ways(&a, whole, n, ret);
    reader = open_reader(gpu, n);
    do {
        read_states(reader, gpu, n, ret);
        for (int i = 0; i < n; i++)
            if (card[i])
                read_link(&a, card[i], &ret[i]);
        if (are_awake(ret, n))
            break;
        clock_sleep_until_ns(clock_now_ns() + AGAIN_NS);
    } while (clock_now_ns() < *until_ns); /* after that they are idle again */
    gpu_reader_close(reader);
    (void)a.shutdown();
    return n;
}
