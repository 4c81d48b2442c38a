/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cuda.c - a libcuda.so.1 of two GPUs that sleep, for machines without one
 *
 * FAKE_CUDA chooses how it behaves: "nodevice", "stub", "old", "eleven" (of CUDA 11), "broken",
 * "nomemory", "crash", "crash-one", "hang" (the second GPU); unset: well.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, STUB = 34, NO_DEVICE = 100, UNKNOWN = 999 };

static bool mode(const char *name)
{
    const char *m = getenv("FAKE_CUDA");

    return m && strcmp(m, name) == 0;
}

/* Die as a driver does, whatever handler a sanitizer has put there. */
static void crash(int sig)
{
    signal(sig, SIG_DFL);
    raise(sig);
}

EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    if (mode("crash"))
        crash(SIGSEGV);
    if (mode("nodevice"))
        return NO_DEVICE;
    if (mode("stub"))
        return STUB;
    return mode("broken") ? UNKNOWN : OK;
}

EXPORT int cuDriverGetVersion(int *ret);
int cuDriverGetVersion(int *ret)
{
    *ret = mode("old") ? 10020 : mode("eleven") ? 11080 : 12040;
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
    *ret = 2;
    return OK;
}

EXPORT int cuDeviceGet(int *ret, int ordinal);
int cuDeviceGet(int *ret, int ordinal)
{
    *ret = ordinal;
    return ordinal < 2 ? OK : INVALID;
}

EXPORT int cuDeviceGetName(char *ret, int size, int d);
int cuDeviceGetName(char *ret, int size, int d)
{
    snprintf(ret, (size_t)size, "Fake GPU %d\033[2J", d);
    return OK;
}

EXPORT int cuDeviceGetUuid(void *ret, int d);
int cuDeviceGetUuid(void *ret, int d)
{
    for (int i = 0; i < 16; i++)
        ((char *)ret)[i] = (char)(i * 16 + d);
    return OK;
}

EXPORT int cuDeviceTotalMem_v2(size_t *ret, int d);
int cuDeviceTotalMem_v2(size_t *ret, int d)
{
    *ret = (size_t)16 << 30;
    return OK;
}

EXPORT int cuDeviceGetPCIBusId(char *ret, int size, int d);
int cuDeviceGetPCIBusId(char *ret, int size, int d)
{
    snprintf(ret, (size_t)size, "0000:%X7:00.0", d ? 10 : 11);
    return OK;
}

EXPORT int cuDevicePrimaryCtxRetain(void **ret, int d);
int cuDevicePrimaryCtxRetain(void **ret, int d)
{
    if (mode("hang") && d == 1)
        sleep(1000);
    if (mode("crash-one") && d == 1)
        crash(SIGILL);
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

/* Little, so that the measured matrices are small. */
EXPORT int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total);
int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
    *ret_free = (size_t)20 << 20;
    *ret_total = (size_t)16 << 30;
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

/* The first and last bytes move, so that a sanitizer sees a wrong size. */
static int move(char *to, const char *from, size_t n, void *stream)
{
    if (!stream)
        return INVALID;
    to[0] = from[0];
    to[n - 1] = from[n - 1];
    return OK;
}

EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t n, void *s);
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t n, void *s)
{
    return move((char *)to, from, n, s);
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t n, void *s);
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t n, void *s)
{
    return move(to, (const char *)from, n, s);
}

EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t n, void *s);
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t n, void *s)
{
    return move((char *)to, (const char *)from, n, s);
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
    usleep(1000);
    return OK;
}
