/* SPDX-License-Identifier: Apache-2.0 */
/* fake_nvml.c - a libnvidia-ml.so.1 of the cards of fake_cards.h; a handle is a card and, but for
 * -1, its instance of MIG.  Process 1 uses a card that is "used", and a "busy" one by 90 %; of an
 * "unseen" one it is not listed.
 */
#include "fake_cards.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    OK = 0,
    INVALID = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    NO_DRIVER = 9,
    TIMEOUT = 10,
    LOST = 15
};

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

/* Return the number after a word of the card's line in FAKE_NVML_STATE, or `otherwise` without that
 * word; of a word without "=", 1.
 */
static int state_of(const void *d, const char *word, int otherwise)
{
    const char *path = getenv("FAKE_NVML_STATE");
    FILE *f = path ? fopen(path, "re") : NULL;
    char line[256], *at;
    int ret = otherwise;

    while (f && fgets(line, sizeof line, f)) {
        char *rest;

        if (strtol(line, &rest, 10) != card_of(d))
            continue;
        while ((at = strsep(&rest, " \n")))
            if (strncmp(at, word, strlen(word)) == 0)
                ret = strchr(word, '=') ? atoi(at + strlen(word)) : 1;
    }
    if (f)
        (void)fclose(f);
    return ret;
}

/* Hang or crash if the file says so. */
static void stumble(const void *d)
{
    if (state_of(d, "crash", 0))
        abort();
    while (state_of(d, "hang", 0))
        (void)usleep(10000);
}

EXPORT int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    const char *mode = getenv("FAKE_NVML");

    while (mode && strcmp(mode, "hang") == 0)
        (void)usleep(10000);
    n_cards = fake_cards(cards);
    return mode && strcmp(mode, "none") == 0 ? NO_DRIVER : OK;
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
                return cards[c].lost ? LOST : OK;
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
    struct fake_card *c = &cards[card_of(d)];

    if (instance_of(d) >= 0)
        return NOT_SUPPORTED;
    ret[0] = (unsigned)state_of(d, "util=",
                                c->busy || c->unseen || c->trail ? 90
                                : c->display                     ? 30
                                                                 : 0);
    ret[1] = 0;
    c->trail = false;
    return OK;
}

/* List process 1 in ret, if it `is_there`, and set *n to the number of processes. */
static int list_first(bool is_there, unsigned *n, void *ret)
{
    const struct {
        unsigned pid;
        unsigned long long bytes;
        unsigned gpu_instance, compute_instance;
    } process = { 1, 1 << 29, ~0U, ~0U };

    *n = is_there;
    if (*n)
        memcpy(ret, &process, sizeof process);
    return OK;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *d, unsigned *n, void *ret);
int nvmlDeviceGetComputeRunningProcesses_v2(void *d, unsigned *n, void *ret)
{
    return list_first(cards[card_of(d)].busy || cards[card_of(d)].used, n, ret);
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v2(void *d, unsigned *n, void *ret);
int nvmlDeviceGetGraphicsRunningProcesses_v2(void *d, unsigned *n, void *ret)
{
    return list_first(cards[card_of(d)].display, n, ret);
}

EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *d, void **ret);
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *d, void **ret)
{
    *ret = handle_of(card_of(d), -1);
    return OK;
}

EXPORT int nvmlDeviceGetClockInfo(void *d, int clock, unsigned *ret);
int nvmlDeviceGetClockInfo(void *d, int clock, unsigned *ret)
{
    stumble(d);
    *ret = (unsigned)state_of(d, "clock=", cards[card_of(d)].clock);
    return clock == 1 ? OK : INVALID;
}

EXPORT int nvmlDeviceGetMaxClockInfo(void *d, int clock, unsigned *ret);
int nvmlDeviceGetMaxClockInfo(void *d, int clock, unsigned *ret)
{
    *ret = (unsigned)cards[card_of(d)].clock;
    return clock == 1 ? OK : INVALID;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *ret);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *ret)
{
    static bool answered[FAKE_MAX];
    const struct fake_card *c = &cards[card_of(d)];
    bool rests = c->brief && answered[card_of(d)];

    answered[card_of(d)] = true;
    *ret = (rests || state_of(d, "idle", 0) ? 1 : 0) | (state_of(d, "cap", 0) ? 4 : 0) |
           (state_of(d, "hardware", 0) ? 8 : 0) | (state_of(d, "heat", 0) ? 0x48 : 0) |
           (state_of(d, "brake", 0) ? 0x88 : 0);
    return OK;
}

EXPORT int nvmlDeviceGetPowerUsage(void *d, unsigned *ret);
int nvmlDeviceGetPowerUsage(void *d, unsigned *ret)
{
    *ret = 1000 * (unsigned)state_of(d, "power=", 60);
    return OK;
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *ret);
int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *ret)
{
    *ret = 1000 * (unsigned)cards[card_of(d)].cap;
    return OK;
}

EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(void *d, unsigned *ret);
int nvmlDeviceGetPowerManagementDefaultLimit(void *d, unsigned *ret)
{
    return nvmlDeviceGetEnforcedPowerLimit(d, ret);
}

EXPORT int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *ret);
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *ret)
{
    *ret = (unsigned)state_of(d, "temp=", 40);
    return sensor == 0 ? OK : INVALID;
}

EXPORT int nvmlDeviceGetTotalEccErrors(void *d, int type, int counter, unsigned long long *ret);
int nvmlDeviceGetTotalEccErrors(void *d, int type, int counter, unsigned long long *ret)
{
    *ret = type == 1 ? (unsigned long long)state_of(d, "ecc=", 0) : 3;
    return !cards[card_of(d)].ecc || counter ? NOT_SUPPORTED : OK;
}

EXPORT int nvmlDeviceGetEccMode(void *d, int *ret, int *ret_pending);
int nvmlDeviceGetEccMode(void *d, int *ret, int *ret_pending)
{
    *ret = *ret_pending = 1;
    return cards[card_of(d)].ecc ? OK : NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetPersistenceMode(void *d, int *ret);
int nvmlDeviceGetPersistenceMode(void *d, int *ret)
{
    (void)d;
    *ret = 1;
    return OK;
}

EXPORT int nvmlDeviceGetComputeMode(void *d, int *ret);
int nvmlDeviceGetComputeMode(void *d, int *ret)
{
    *ret = cards[card_of(d)].bad ? 3 : 0;
    return OK;
}

EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(void *d, unsigned *ret);
int nvmlDeviceGetCurrPcieLinkGeneration(void *d, unsigned *ret)
{
    const char *awake = getenv("FAKE_AWAKE");

    *ret = awake && access(awake, F_OK) < 0 ? 1 : (unsigned)cards[card_of(d)].pcie_gen;
    return OK;
}

EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(void *d, unsigned *ret);
int nvmlDeviceGetMaxPcieLinkGeneration(void *d, unsigned *ret)
{
    (void)d;
    *ret = 4;
    return OK;
}

EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void *d, unsigned *ret);
int nvmlDeviceGetCurrPcieLinkWidth(void *d, unsigned *ret)
{
    *ret = (unsigned)cards[card_of(d)].pcie_width;
    return OK;
}

EXPORT int nvmlDeviceGetMaxPcieLinkWidth(void *d, unsigned *ret);
int nvmlDeviceGetMaxPcieLinkWidth(void *d, unsigned *ret)
{
    (void)d;
    *ret = 16;
    return OK;
}

EXPORT int nvmlDeviceGetTopologyCommonAncestor(void *d, void *other, int *ret);
int nvmlDeviceGetTopologyCommonAncestor(void *d, void *other, int *ret)
{
    const struct fake_card *a = &cards[card_of(d)], *b = &cards[card_of(other)];

    *ret = a == b                                         ? 0
           : a->on_switch && a->on_switch == b->on_switch ? 10
           : a->numa == b->numa                           ? 30
                                                          : 50;
    return OK;
}

EXPORT int nvmlDeviceGetMemoryAffinity(void *d, unsigned words, unsigned long *ret, int scope);
int nvmlDeviceGetMemoryAffinity(void *d, unsigned words, unsigned long *ret, int scope)
{
    unsigned bits = 8 * sizeof *ret, numa = (unsigned)cards[card_of(d)].numa;

    if (scope != 0 || numa / bits >= words)
        return INVALID;
    memset(ret, 0, words * sizeof *ret);
    ret[numa / bits] = 1UL << numa % bits;
    return OK;
}

/* Return the card at the other end of a link; -1: there is none. */
static int joined(const void *d, unsigned link)
{
    const struct fake_card *c = &cards[card_of(d)];

    for (int i = 0; c->links && i < n_cards; i++) {
        if (i == card_of(d) || !cards[i].links)
            continue;
        if (link < (unsigned)c->links)
            return i;
        link -= (unsigned)c->links;
    }
    return -1;
}

EXPORT int nvmlDeviceGetNvLinkState(void *d, unsigned link, int *ret);
int nvmlDeviceGetNvLinkState(void *d, unsigned link, int *ret)
{
    *ret = joined(d, link) >= 0;
    return cards[card_of(d)].links ? OK : NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned link, void *ret);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned link, void *ret)
{
    int other = joined(d, link);

    return other < 0 ? INVALID : nvmlDeviceGetPciInfo_v3(handle_of(other, -1), ret);
}

/* ---- events: one for each new Xid of FAKE_NVML_STATE ---- */

static bool watched[FAKE_MAX];
static int seen[FAKE_MAX];

EXPORT int nvmlEventSetCreate(void **ret);
int nvmlEventSetCreate(void **ret)
{
    *ret = watched;
    return OK;
}

EXPORT int nvmlDeviceRegisterEvents(void *d, unsigned long long types, void *set);
int nvmlDeviceRegisterEvents(void *d, unsigned long long types, void *set)
{
    ((bool *)set)[card_of(d)] = true;
    return types == 8 ? OK : NOT_SUPPORTED;
}

EXPORT int nvmlEventSetWait_v2(void *set, void *ret, unsigned timeout_ms);
int nvmlEventSetWait_v2(void *set, void *ret, unsigned timeout_ms)
{
    for (unsigned ms = 0; ms < timeout_ms; ms += 50) {
        for (int c = 0; c < n_cards; c++) {
            struct {
                void *device;
                unsigned long long type, data;
                unsigned gpu_instance, compute_instance;
            } event = { handle_of(c, -1), 8, 0, ~0U, ~0U };
            int xid = ((bool *)set)[c] ? state_of(event.device, "xid=", 0) : 0;

            if (xid && xid != seen[c]) {
                event.data = (unsigned long long)(seen[c] = xid);
                memcpy(ret, &event, sizeof event);
                return OK;
            }
        }
        (void)usleep(50000);
    }
    return TIMEOUT;
}
