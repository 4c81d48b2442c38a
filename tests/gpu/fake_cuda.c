/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cuda.c - a libcuda.so.1 of the cards of fake_cards.h, whose copies last as long as theirs
 *
 * fake_hip.c includes this file, with other names for the functions.
 */
#include "fake_cards.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    OK = 0,
    INVALID = 1,
    NO_MEMORY = 2,
    STUB = 34,
    UNAVAILABLE = 46,
    NO_DEVICE = 100,
    UNKNOWN = 999
};

enum { CAPABILITY_MAJOR = 75 }; /* attribute of a device */

/* A device that this process sees: a card, or an instance of MIG (-1: the whole card). */
struct device {
    int card, instance;
};

static struct fake_card cards[FAKE_MAX];
static struct device devices[FAKE_MAX];
static int n_cards, n_devices;
static int current;     /* device whose context is current */
static double queued_s; /* work of the stream */

#ifndef FAKE_HIP
#define FAKE_MODE      "FAKE_CUDA"
#define FAKE_CARDS     fake_cards
#define FAKE_UUID_TEXT fake_uuid_text
#define FAKE_VERSION   (mode("old") ? 10020 : mode("eleven") ? 11080 : 12040)
static const char *shown(void)
{
    return getenv("CUDA_VISIBLE_DEVICES");
}
#endif

static bool mode(const char *name)
{
    const char *m = getenv(FAKE_MODE);

    return m && strcmp(m, name) == 0;
}

/* Die as a driver does, whatever handler a sanitizer has put there. */
static void crash(int sig)
{
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Check whether a word of the list of visible devices means this device: the beginning of its UUID,
 * or the card's number, which for a divided card means its first instance.
 */
static bool is_meant(const char *word, struct device d)
{
    char uuid[FAKE_UUID], *end;
    long number = strtol(word, &end, 10);

    if (end != word && !*end)
        return number == d.card && d.instance <= 0;
    FAKE_UUID_TEXT(d.card, d.instance, uuid);
    return strlen(word) > 4 && strncmp(word, uuid, strlen(word)) == 0;
}

/* Append the device that this word means; NULL: all.  Return false if it means none. */
static bool show(const char *word)
{
    int before = n_devices;

    for (int c = 0; c < n_cards; c++)
        for (int i = cards[c].instances ? 0 : -1; i < cards[c].instances; i++)
            if (n_devices < FAKE_MAX && (!word || is_meant(word, (struct device){ c, i })))
                devices[n_devices++] = (struct device){ c, i };
    return n_devices > before;
}

/* Fill in the devices that are visible.  As CUDA has it, a process sees either cards
 * that are not divided or one instance.
 */
static void see(void)
{
    const char *visible = shown();
    char text[1024], *next = text;

    n_cards = FAKE_CARDS(cards);
    n_devices = 0;
    snprintf(text, sizeof text, "%s", visible ? visible : "");
    if (!visible)
        show(NULL);
    while (visible && next && show(strsep(&next, ",")))
        ;
    for (int i = 0; i < n_devices; i++)
        if (devices[i].instance >= 0) {
            devices[0] = devices[i];
            n_devices = 1;
        }
}

EXPORT const struct fake_card *fake_current(void)
{
    return &cards[devices[current].card];
}

EXPORT void fake_queue(double s)
{
    queued_s += s;
}

EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    const char *m = getenv(FAKE_MODE);

    if (m && strncmp(m, "slow=", 5) == 0)
        usleep((useconds_t)(atof(m + 5) * 1e6));
    if (mode("crash"))
        crash(SIGSEGV);
    if (mode("stub"))
        return STUB;
    if (mode("broken"))
        return UNKNOWN;
    see();
    return mode("nodevice") || n_devices == 0 ? NO_DEVICE : OK;
}

EXPORT int cuDriverGetVersion(int *ret);
int cuDriverGetVersion(int *ret)
{
    *ret = FAKE_VERSION;
    return OK;
}

EXPORT int cuGetErrorString(int e, const char **ret);
int cuGetErrorString(int e, const char **ret)
{
    *ret = e == NO_MEMORY ? "out of memory" : "it does not work";
    return e == UNKNOWN ? INVALID : OK;
}

EXPORT int cuDeviceGetCount(int *ret);
int cuDeviceGetCount(int *ret)
{
    *ret = n_devices;
    return OK;
}

EXPORT int cuDeviceGet(int *ret, int ordinal);
int cuDeviceGet(int *ret, int ordinal)
{
    *ret = ordinal;
    return ordinal < n_devices ? OK : INVALID;
}

EXPORT int cuDeviceGetName(char *ret, int size, int d);
int cuDeviceGetName(char *ret, int size, int d)
{
    struct device of = devices[d];

    if (cards[of.card].lost)
        return UNKNOWN;
    snprintf(ret, (size_t)size, of.instance < 0 ? "%s" : "%s MIG instance", cards[of.card].name);
    return OK;
}

#ifndef FAKE_HIP
EXPORT int cuDeviceGetUuid(void *ret, int d);
int cuDeviceGetUuid(void *ret, int d)
{
    fake_uuid(devices[d].card, -1, ret); /* of an instance, too, its card's */
    return OK;
}

EXPORT int cuDeviceGetUuid_v2(void *ret, int d);
int cuDeviceGetUuid_v2(void *ret, int d)
{
    fake_uuid(devices[d].card, devices[d].instance, ret);
    return OK;
}

#endif
EXPORT int cuDeviceTotalMem_v2(size_t *ret, int d);
int cuDeviceTotalMem_v2(size_t *ret, int d)
{
    *ret = (size_t)cards[devices[d].card].bytes;
    return OK;
}

EXPORT int cuDeviceGetAttribute(int *ret, int attribute, int d);
int cuDeviceGetAttribute(int *ret, int attribute, int d)
{
    if (attribute != CAPABILITY_MAJOR)
        return INVALID;
    *ret = cards[devices[d].card].major;
    return OK;
}

EXPORT int cuDeviceGetPCIBusId(char *ret, int size, int d);
int cuDeviceGetPCIBusId(char *ret, int size, int d)
{
    snprintf(ret, (size_t)size, "0000:%X7:00.0", 11 - devices[d].card);
    return OK;
}

EXPORT int cuDevicePrimaryCtxRetain(void **ret, int d);
int cuDevicePrimaryCtxRetain(void **ret, int d)
{
    const struct fake_card *c = &cards[devices[d].card];

    if (c->hang)
        sleep(1000);
    if (c->crash)
        crash(SIGILL);
    if (c->bad || c->lost)
        return c->bad ? UNAVAILABLE : UNKNOWN;
    current = d;
    *ret = ret;
    return OK;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int d);
int cuDevicePrimaryCtxRelease_v2(int d)
{
    return OK;
}

EXPORT int cuCtxSetCurrent(void *c);
int cuCtxSetCurrent(void *c)
{
    return c ? OK : INVALID;
}

EXPORT int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total);
int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
    *ret_free = (size_t)fake_current()->free_bytes;
    *ret_total = (size_t)fake_current()->bytes;
    return OK;
}

EXPORT int cuMemAlloc_v2(unsigned long long *ret, size_t bytes);
int cuMemAlloc_v2(unsigned long long *ret, size_t bytes)
{
    void *p = mode("nomemory") ? NULL : malloc(bytes);

    *ret = (unsigned long long)p;
    return p ? OK : NO_MEMORY;
}

EXPORT int cuMemFree_v2(unsigned long long p);
int cuMemFree_v2(unsigned long long p)
{
    free((void *)p);
    return OK;
}

EXPORT int cuMemAllocHost_v2(void **ret, size_t bytes);
int cuMemAllocHost_v2(void **ret, size_t bytes)
{
    *ret = malloc(bytes);
    return *ret ? OK : NO_MEMORY;
}

EXPORT int cuMemFreeHost(void *p);
int cuMemFreeHost(void *p)
{
    free(p);
    return OK;
}

/* Copy n bytes at this rate.  The first and last bytes move, so that a sanitizer sees a wrong size.
 */
static int move(char *to, const char *from, size_t n, double rate, void *stream)
{
    const char *awake = getenv("FAKE_AWAKE");
    FILE *f = awake ? fopen(awake, "ae") : NULL;

    if (f)
        (void)fclose(f);
    if (!stream)
        return INVALID;
    fake_queue((double)n / rate);
    to[0] = from[0];
    to[n - 1] = from[n - 1];
    return OK;
}

EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t n, void *s);
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t n, void *s)
{
    return move((char *)to, from, n, fake_current()->bus, s);
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t n, void *s);
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t n, void *s)
{
    return move(to, (const char *)from, n, fake_current()->bus, s);
}

EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t n, void *s);
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t n, void *s)
{
    return move((char *)to, (const char *)from, n, fake_current()->memory / 2, s);
}

EXPORT int cuStreamCreate(void **ret, unsigned flags);
int cuStreamCreate(void **ret, unsigned flags)
{
    *ret = malloc(1);
    return OK;
}

EXPORT int cuStreamDestroy_v2(void *s);
int cuStreamDestroy_v2(void *s)
{
    free(s);
    return OK;
}

EXPORT int cuStreamSynchronize(void *s);
int cuStreamSynchronize(void *s)
{
    usleep((useconds_t)(queued_s * 1e6));
    queued_s = 0;
    return OK;
}
