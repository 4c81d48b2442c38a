/* SPDX-License-Identifier: Apache-2.0 */
/* blas_core.c - choose OpenBLAS kernels that this processor can run */
#include "blas_core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

/* Names of OpenBLAS kernels without AVX.  On processors that OpenBLAS does not know it uses
 * Prescott or Barcelona.
 */
static const char *const narrow[] = {
    "Prescott", "Core2",  "Penryn",       "Dunnington", "Nehalem",   "Atom",   "Nano",    "Athlon",
    "Opteron",  "Bobcat", "Opteron_SSE3", "Barcelona",  "Northwood", "Katmai", "Generic", "Unknown",
};

/* Check whether `core` is the name of OpenBLAS kernels without AVX. */
static bool is_narrow(const char *core)
{
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        if (strcasecmp(core, narrow[i]) == 0)
            return true;
    return false;
}

/* Return the name of the OpenBLAS kernels with the widest vectors that this processor can run;
 * NULL: it has none wider than SSE.
 */
static const char *widest(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
#endif
    return NULL;
}

const char *blas_core_better(const char *taken)
{
    const char *asked = getenv(BLAS_CORE_VARIABLE);

    return (asked && *asked) || !is_narrow(taken) ? NULL : widest();
}
