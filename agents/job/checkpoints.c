/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.c - finding the newest complete checkpoint in a folder */
#include "checkpoints.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number in "step-00000500"; -1: another name. */
static int64_t step_of(const char *name)
{
    const char *digits = name + 5;

    if (strncmp(name, "step-", 5) != 0 || !*digits || strlen(digits) > 18 ||
        digits[strspn(digits, "0123456789")])
        return -1;
    return strtoll(digits, NULL, 10);
}

int64_t checkpoints_newest(const char *dir, char *ret, size_t size)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int64_t newest = -1;

    while (d && (e = readdir(d))) {
        int64_t step = step_of(e->d_name);

        if (step <= newest)
            continue;
        newest = step;
        if (ret)
            (void)snprintf(ret, size, "%s/%s", dir, e->d_name);
    }
    if (d)
        closedir(d);
    return newest;
}
