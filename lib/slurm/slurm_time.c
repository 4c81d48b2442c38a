/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_time.c - parses a time limit of Slurm's */
#include "slurm_time.h"

#include "lib/base/clock.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Parse a text like "1", "1:2" or "1:2:3" and store its numbers in ret. Return how many numbers it
 * has, 1 to 3; 0: the text has another form.
 */
static int read_numbers(const char *s, unsigned ret[3])
{
    int n = 0, used;

    for (;; s++) {
        if (n == 3 || !isdigit((unsigned char)*s) || sscanf(s, "%7u%n", &ret[n], &used) != 1)
            return 0;
        n++;
        s += used;
        if (!*s)
            return n;
        if (*s != ':')
            return 0;
    }
}

int64_t slurm_time_limit_ns(const char *text)
{
    const char *dash = strchr(text, '-');
    unsigned days = 0, number[3] = { 0 };
    int used = 0, n;
    int64_t s;

    if (strcasecmp(text, "infinite") == 0 || strcasecmp(text, "unlimited") == 0)
        return CLOCK_NEVER;
    if (dash && (!isdigit((unsigned char)*text) || sscanf(text, "%5u%n", &days, &used) != 1 ||
                 text + used != dash))
        return -1;
    n = read_numbers(dash ? dash + 1 : text, number);
    if (n == 0)
        return -1;
    if (dash || n == 3)
        s = (int64_t)number[0] * 3600 + number[1] * 60 + number[2];
    else
        s = (int64_t)number[0] * 60 + number[1];
    s += (int64_t)days * 86400;
    return s && s < CLOCK_NEVER / CLOCK_S ? s * CLOCK_S : CLOCK_NEVER;
}
