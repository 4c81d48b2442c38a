/* SPDX-License-Identifier: Apache-2.0 */
/* precision.c - the names of precisions */
#include "precision.h"

#include <string.h>

const char *const precision_names[PRECISIONS] = { "auto", "fp32", "tf32", "bf16", "fp16" };

const char *precision_name(size_t i)
{
    return i < PRECISIONS ? precision_names[i] : NULL;
}

enum precision precision_find(const char *name)
{
    size_t i = 0;

    while (i < PRECISIONS && strcmp(precision_names[i], name) != 0)
        i++;
    return (enum precision)i;
}
