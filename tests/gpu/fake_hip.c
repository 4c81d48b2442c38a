/* SPDX-License-Identifier: Apache-2.0 */
/* fake_hip.c - a libamdhip64.so.6 of the AMD cards of fake_cards.h: fake_cuda.c by HIP's names
 *
 * As HIP has it, ROCR_VISIBLE_DEVICES chooses cards by number or UUID, and of these
 * HIP_VISIBLE_DEVICES, or CUDA_VISIBLE_DEVICES if that is empty, chooses by number.
 */
#include "fake_cards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define cuInit                       hipInit
#define cuDriverGetVersion           hipDriverGetVersion
#define cuGetErrorString             hipDrvGetErrorString
#define cuDeviceGetCount             hipGetDeviceCount
#define cuDeviceGet                  hipDeviceGet
#define cuDeviceGetName              hipDeviceGetName
#define cuDeviceTotalMem_v2          hipDeviceTotalMem
#define cuDeviceGetPCIBusId          hipDeviceGetPCIBusId
#define cuDevicePrimaryCtxRetain     hipDevicePrimaryCtxRetain
#define cuDevicePrimaryCtxRelease_v2 hipDevicePrimaryCtxRelease
#define cuCtxSetCurrent              hipCtxSetCurrent
#define cuMemGetInfo_v2              hipMemGetInfo
#define cuMemAlloc_v2                hipMalloc
#define cuMemFree_v2                 hipFree
#define cuMemAllocHost_v2            hipMemAllocHost
#define cuMemFreeHost                hipHostFree
#define cuMemcpyHtoDAsync_v2         hipMemcpyHtoDAsync
#define cuMemcpyDtoHAsync_v2         hipMemcpyDtoHAsync
#define cuMemcpyDtoDAsync_v2         hipMemcpyDtoDAsync
#define cuStreamCreate               hipStreamCreateWithFlags
#define cuStreamDestroy_v2           hipStreamDestroy
#define cuStreamSynchronize          hipStreamSynchronize

#define FAKE_HIP
#define FAKE_MODE      "FAKE_HIP"
#define FAKE_CARDS     fake_amd_cards
#define FAKE_UUID_TEXT write_uuid
#define FAKE_VERSION   (mode("old") ? 50522000 : 60342131)

/* Write the UUID of a card to ret as rocminfo prints it. */
static void write_uuid(int card, int instance, char *ret)
{
    unsigned char u[16];
    size_t at = (size_t)sprintf(ret, "GPU-");

    fake_uuid(card, instance, u);
    for (int i = 0; i < 8; i++)
        at += (size_t)sprintf(ret + at, "%02x", u[i]);
}

/* Append the word of index `number` in the list `from` to `to`; a list that is NULL has each
 * number.
 */
static void append(const char *from, const char *number, char *to, size_t size)
{
    size_t at = strlen(to);
    int n = atoi(number);

    for (int i = 0; from && i < n; i++)
        from = strchr(from, ',') ? strchr(from, ',') + 1 : "none";
    if (from)
        snprintf(to + at, size - at, "%s%.*s", at ? "," : "", (int)strcspn(from, ","), from);
    else
        snprintf(to + at, size - at, "%s%s", at ? "," : "", number);
}

/* Return the list of visible cards; NULL: all.  It is that of the last call. */
static const char *shown(void)
{
    static char ret[1024];
    const char *rocr = getenv("ROCR_VISIBLE_DEVICES"), *hip = getenv("HIP_VISIBLE_DEVICES");
    const char *cuda = getenv("CUDA_VISIBLE_DEVICES");
    char text[1024], *next = text, *word;

    if (!hip || !*hip)
        hip = cuda && *cuda ? cuda : NULL;
    if (!hip)
        return rocr;
    ret[0] = '\0';
    snprintf(text, sizeof text, "%s", hip);
    while ((word = strsep(&next, ","))) {
        word += strspn(word, " ");
        word[strcspn(word, " ")] = '\0';
        append(rocr, word, ret, sizeof ret);
    }
    return ret;
}

#include "fake_cuda.c"

EXPORT int hipDeviceGetUuid(void *ret, int d);
int hipDeviceGetUuid(void *ret, int d)
{
    char text[FAKE_UUID];

    if (cards[devices[d].card].lost)
        return UNKNOWN;
    write_uuid(devices[d].card, -1, text);
    if (cards[devices[d].card].nouuid)
        memcpy(text, "GPU-XX", sizeof "GPU-XX");
    memcpy(ret, text + 4, 16);
    return OK;
}
