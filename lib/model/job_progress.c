/* SPDX-License-Identifier: Apache-2.0 */
/* job_progress.c - check the pattern that finds steps in a program's output */
#include "job_impl.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_MAX_BYTES = 1024 };

/* Compile the pattern into *ret.  Return 0 or an error code of regcomp. */
static int compile(const char *pattern, regex_t *ret)
{
    return regcomp(ret, pattern, REG_EXTENDED);
}

/* Return the column, from 1, where a pattern becomes invalid: after its longest valid beginning. */
static int bad_column(const char *pattern)
{
    cleanup_free char *begin = strdup(pattern);
    size_t n = strlen(pattern), columns = 1;
    regex_t r;

    while (begin && n > 0) {
        begin[--n] = '\0';
        if (compile(begin, &r) == 0) {
            regfree(&r);
            break;
        }
    }
    for (size_t i = 0; i < n; i++)
        columns += ((unsigned char)pattern[i] & 0xc0) != 0x80;
    return (int)columns;
}

int job_check_progress(const char *pattern, struct eddis_error *err)
{
    char why[128];
    size_t groups;
    regex_t r;
    int rc;

    if (!*pattern || strlen(pattern) > PATTERN_MAX_BYTES)
        return eddis_fail(err, -EINVAL, "a pattern has between 1 and %d bytes", PATTERN_MAX_BYTES);
    rc = compile(pattern, &r);
    if (rc) {
        (void)regerror(rc, &r, why, sizeof why);
        return eddis_fail(
            err, -EINVAL,
            "\"%.100s\" is no POSIX extended regular expression: %s, at its column %d", pattern,
            why, bad_column(pattern));
    }
    groups = r.re_nsub;
    regfree(&r);
    return groups ? 0
                  : eddis_fail(err, -EINVAL,
                               "\"%.100s\" has no group; put the number of the step in one, as in "
                               "\"step[ =]+([0-9]+)\"",
                               pattern);
}
