/* SPDX-License-Identifier: Apache-2.0 */
/* narrow_kernels.c - preloaded: an OpenBLAS that does not know the processor, and a line for each
 * program that begins with it: its pid and what OPENBLAS_CORETYPE was
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) char *openblas_get_corename(void);

char *openblas_get_corename(void)
{
    static char name[] = "Prescott";

    return name;
}

__attribute__((constructor)) static void begin(void)
{
    const char *told = getenv("BEGUN"), *core = getenv("OPENBLAS_CORETYPE");
    FILE *f = told ? fopen(told, "a") : NULL;

    if (!f)
        return;
    fprintf(f, "%ld %s\n", (long)getpid(), core ? core : "-");
    (void)fclose(f);
}
