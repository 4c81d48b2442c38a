/* SPDX-License-Identifier: Apache-2.0 */
/* fake_nvml.c - a libnvidia-ml.so.1 of the cards of fake_cards.h; a handle is a card and, but for
 * -1, its instance of MIG.  Process 1 uses a card that is "used", and a "busy" one by 90 %.
 */
#include "fake_cards.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, INVALID = 2, NOT_FOUND = 6 };

static struct fake_card cards[FAKE_MAX];
static int n_cards;

/* Return the handle of a card or instance. */
static void *handle_of(int card, int instance)
{
    return (void *)(uintptr_t)(unsigned)(1 + card * 32 + instance + 1);
}

static int card_of(const void *d)
{
    return ((int)(uintptr_t)d - 1) / 32;
}

static int instance_of(const void *d)
{
    return ((int)(uintptr_t)d - 1) % 32 - 1;
}

EXPORT int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    n_cards = fake_cards(cards);
    return OK;
}

EXPORT int nvmlShutdown(void);
int nvmlShutdown(void)
{
    return OK;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetCount_v2(unsigned *ret)
{
    *ret = (unsigned)n_cards;
    return OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
    *ret = handle_of((int)index, -1);
    return (int)index < n_cards ? OK : INVALID;
}

EXPORT int nvmlDeviceGetUUID(void *d, char *ret, unsigned size);
int nvmlDeviceGetUUID(void *d, char *ret, unsigned size)
{
    fake_uuid_text(card_of(d), instance_of(d), ret);
    return size >= FAKE_UUID ? OK : INVALID;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **ret)
{
    for (int c = 0; c < n_cards; c++)
        for (int i = -1; i < cards[c].instances; i++) {
            char text[FAKE_UUID];

            fake_uuid_text(c, i, text);
            *ret = handle_of(c, i);
            if (strcmp(text, uuid) == 0)
                return OK;
        }
    return NOT_FOUND;
}

EXPORT int nvmlDeviceGetName(void *d, char *ret, unsigned size);
int nvmlDeviceGetName(void *d, char *ret, unsigned size)
{
    snprintf(ret, size, instance_of(d) < 0 ? "%s" : "%s MIG instance", cards[card_of(d)].name);
    return OK;
}

EXPORT int nvmlDeviceGetPciInfo_v3(void *d, void *ret);
int nvmlDeviceGetPciInfo_v3(void *d, void *ret)
{
    const struct {
        char legacy[16];
        unsigned domain, bus, device, id, subsystem;
        char text[32];
    } pci = { .bus = 0xb7 - 16 * (unsigned)card_of(d) };

    memcpy(ret, &pci, sizeof pci);
    return OK;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *ret);
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *ret)
{
    ret[0] = (unsigned long long)cards[card_of(d)].bytes;
    ret[1] = (unsigned long long)cards[card_of(d)].free_bytes;
    ret[2] = ret[0] - ret[1];
    return OK;
}

EXPORT int nvmlDeviceGetMigMode(void *d, unsigned *ret, unsigned *ret_pending);
int nvmlDeviceGetMigMode(void *d, unsigned *ret, unsigned *ret_pending)
{
    *ret = *ret_pending = cards[card_of(d)].instances > 0;
    return OK;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned index, void **ret);
int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned index, void **ret)
{
    *ret = handle_of(card_of(d), (int)index);
    return (int)index < cards[card_of(d)].instances ? OK : NOT_FOUND;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *d, unsigned *ret);
int nvmlDeviceGetUtilizationRates(void *d, unsigned *ret)
{
    ret[0] = cards[card_of(d)].busy ? 90 : 0;
    ret[1] = 0;
    return OK;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *d, unsigned *n, void *ret);
int nvmlDeviceGetComputeRunningProcesses_v2(void *d, unsigned *n, void *ret)
{
    const struct {
        unsigned pid;
        unsigned long long bytes;
        unsigned gpu_instance, compute_instance;
    } process = { 1, 1 << 29, ~0U, ~0U };

    *n = cards[card_of(d)].busy || cards[card_of(d)].used;
    if (*n)
        memcpy(ret, &process, sizeof process);
    return OK;
}
