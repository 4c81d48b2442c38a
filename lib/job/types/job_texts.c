/* SPDX-License-Identifier: Apache-2.0 */
/* job_texts.c - check texts of a job that other programs read */
#include "job_texts.h"

#include "lib/base/cleanup.h"
#include "lib/base/decimal.h"
#include "lib/base/ip.h"
#include "lib/base/program.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS  "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

enum { MAX_PREFIX = 64, MAX_VARIABLE = 256, MAX_SLURM_TEXT = 256, PATTERN_MAX_BYTES = 1024 };

/* ---- networks, paths, prefixes ---- */

/* Check whether s is a network like "10.1.0.0/24" or "fd00::/64". */
static bool is_network(const char *s)
{
    const char *slash = strchr(s, '/');
    char address[64];
    struct ip a;
    int64_t bits;

    if (!slash || (size_t)(slash - s) >= sizeof address || !decimal_whole(slash + 1, &bits))
        return false;
    (void)snprintf(address, sizeof address, "%.*s", (int)(slash - s), s);
    return bits >= 0 && ip_parse(address, &a) && bits <= (strchr(address, ':') ? 128 : 32);
}

int job_check_interface(const char *text, struct eddis_error *err)
{
    size_t n = strspn(text, LETTERS DIGITS "._-@");
    struct ip a;

    if ((n > 0 && n < 16 && !text[n] && *text != '-' && *text != '.') || ip_parse(text, &a) ||
        is_network(text))
        return 0;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s\" is not a network; write an interface's name, an address of this "
                      "machine or a network like 10.1.0.0/24, or auto",
                      text);
}

int job_check_eddis(const char *path, struct eddis_error *err)
{
    if (*path == '/' && strlen(path) < 1024 && !strpbrk(path, "\n\r"))
        return 0;
    return eddis_fail(
        err, -EINVAL,
        "\"%.60s\" is not a path on another machine; write one that begins with /, or auto", path);
}

int job_check_python(const char *path, struct eddis_error *err)
{
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return eddis_fail(err, -EINVAL, "a control character; write plain text");
    if (*path == '/' && strlen(path) < PATH_MAX && program_is_python(path))
        return 0;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s%s\" is not the path of a Python; write one like "
                      "/opt/venv/bin/python3, or auto",
                      path, strlen(path) > 60 ? "..." : "");
}

int job_check_prefix(const char *text, struct eddis_error *err)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return eddis_fail(err, -EINVAL, "a control character; write plain text");
    if (strlen(text) > MAX_PREFIX)
        return eddis_fail(err, -EINVAL, "longer than %d bytes; shorten it", MAX_PREFIX);
    for (const char *c = strchr(text, '{'); c; c = strchr(c + 1, '{'))
        if (strncmp(c, "{node}", 6) != 0 && strncmp(c, "{rank}", 6) != 0)
            return eddis_fail(err, -EINVAL, "\"%.10s\" is unknown; write {node} or {rank}", c);
    return 0;
}

/* ---- names of variables ---- */

bool job_is_variable(const char *s)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

    return n > 0 && n <= MAX_VARIABLE && !s[n] && !isdigit((unsigned char)*s);
}

/* Check whether eddis sets this variable for every worker, so that another value would split the
 * job.  Names in the list that end in "_" are prefixes.  Variables that a user may choose, as
 * MASTER_PORT, are not in it.
 */
static bool is_ours(const char *s)
{
    static const char *const names[] = {
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "NODE_RANK",
        "GROUP_RANK",
        "GROUP_WORLD_SIZE",
        "ROLE_RANK",
        "ROLE_WORLD_SIZE",
        "EDDIS_",
        "OMPI_COMM_WORLD_",
        "PMIX_",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);

        if (strncmp(s, names[i], n) == 0 && (!s[n] || names[i][n - 1] == '_'))
            return true;
    }
    return false;
}

int job_check_variable(const char *name, struct eddis_error *err)
{
    if (!job_is_variable(name))
        return eddis_fail(err, -EINVAL, "\"%.40s\" is not a name; write letters, digits and _",
                          name);
    if (is_ours(name))
        return eddis_fail(err, -EINVAL, "\"%.40s\" is set by eddis itself; choose another name",
                          name);
    return 0;
}

int job_check_pattern(const char *pattern, struct eddis_error *err)
{
    size_t n = strspn(pattern, LETTERS DIGITS "_*?");

    if (n > 0 && !pattern[n] && !isdigit((unsigned char)*pattern))
        return 0;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s\" is not a pattern of names; write letters, digits and _, with * "
                      "for any characters",
                      pattern);
}

/* ---- texts for sbatch: part of a line "#SBATCH --option=text", where quotes, backslashes and '#'
 * are special ----
 */

int job_check_slurm_text(const char *text, struct eddis_error *err)
{
    size_t n = 0;

    while (text[n] > ' ' && text[n] < 0x7f && !strchr("\"'\\#", text[n]))
        n++;
    if (n > 0 && !text[n] && n < MAX_SLURM_TEXT && *text != '-')
        return 0;
    return eddis_fail(err, -EINVAL,
                      "\"%.60s\" is not valid for sbatch; write letters, digits and punctuation, "
                      "without blanks, quotes, backslashes, '#' and a leading '-'",
                      text);
}

int job_check_slurm_word(const char *word, struct eddis_error *err)
{
    for (const char *c = word; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return eddis_fail(err, -EINVAL, "a control character; write plain text");
    return *word ? 0 : eddis_fail(err, -EINVAL, "an empty word; remove it");
}

/* ---- the pattern that finds steps in a program's output ---- */

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
        return eddis_fail(err, -EINVAL, "a pattern must have between 1 and %d bytes",
                          PATTERN_MAX_BYTES);
    rc = compile(pattern, &r);
    if (rc) {
        (void)regerror(rc, &r, why, sizeof why);
        return eddis_fail(
            err, -EINVAL,
            "\"%.100s\" is not a POSIX extended regular expression: %s, at its column %d", pattern,
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
