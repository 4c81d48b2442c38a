/* SPDX-License-Identifier: Apache-2.0 */
/* hostfile.c - parse host files: one machine per line, as for Open MPI, MPICH and DeepSpeed */
#include "hostfile.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/job/tree/job_node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPACE " \t\r\v\f"

/* Numbers after the host on a line; 0: not given */
struct numbers {
    int64_t slots, most;
};

/* Read "KEY = NUMBER" or "NUMBER" at *s into *ret and advance *s.  Return 0 or -EINVAL. */
static int read_setting(char **s, struct numbers *ret, struct eddis_error *err)
{
    char *word = *s, *value = word;
    size_t n = strcspn(word, "=" SPACE), length;
    char *rest = word + n + strspn(word + n, SPACE);
    int64_t *to = &ret->slots;

    if (*rest == '=') {
        value = rest + 1 + strspn(rest + 1, SPACE);
        if (n == 9 && (strncmp(word, "max_slots", n) == 0 || strncmp(word, "max-slots", n) == 0))
            to = &ret->most;
        else if (n != 5 || strncmp(word, "slots", n) != 0)
            return eddis_fail(err, -EINVAL, "\"%.*s\" is unknown; write slots=4",
                              (int)(n < 40 ? n : 40), word);
    }
    length = strcspn(value, SPACE);
    if (*to)
        return eddis_fail(err, -EINVAL, "a second number of slots; write only one");
    if (!host_list_count(value, length, to))
        return eddis_fail(err, -EINVAL,
                          "\"%.*s\" is not a number of slots from 1 to %d; write slots=4",
                          (int)(length < 40 ? length : 40), value, HOST_LIST_WORKERS);
    *s = value + length;
    return 0;
}

/* Append the hosts of line `number`, whose comment was removed.  Cuts the line in place.  Return 0,
 * also for an empty line, or a negative errno without the line's number in err; -EINVAL, -E2BIG:
 * the line is wrong.
 */
static int read_line(char *line, int number, struct host_list *l, struct eddis_error *err)
{
    struct numbers have = { 0 };
    size_t first = l->n;
    char *host = line + strspn(line, SPACE), *s;
    int rc = 0;

    if (!*host)
        return 0;
    s = host + strcspn(host, SPACE);
    if (*s)
        *s++ = '\0';
    for (s += strspn(s, SPACE); *s && rc == 0; s += strspn(s, SPACE))
        rc = read_setting(&s, &have, err);
    if (rc == 0)
        rc = host_list_add(l, host, true, number, 1, err);
    if (rc < 0)
        return rc;
    if (have.slots && l->at[first].workers)
        return eddis_fail(err, -EINVAL, "a second number of slots; write only one");
    for (size_t i = first; i < l->n && have.slots; i++)
        l->at[i].workers = have.slots;
    if (have.most && have.most < l->at[first].workers)
        return eddis_fail(err, -EINVAL,
                          "max_slots is less than slots; write slots of at most max_slots");
    return 0;
}

/* Copy a line of n bytes without its comment into *ret, for the caller to free.  Return 0, -ENOMEM,
 * or -EINVAL: it is not UTF-8 text.
 */
static int copy_line(const char *s, size_t n, char **ret, struct eddis_error *err)
{
    size_t end = n;

    if (memchr(s, 0, n) || text_utf8_bad(s, n) < n)
        return eddis_fail(err, -EINVAL, "not text in UTF-8; this must be a list of hosts");
    for (size_t i = 0; i < n && end == n; i++)
        if (s[i] == '#')
            end = i;
    *ret = strndup(s, end);
    return *ret ? 0 : job_no_memory(err);
}

int hostfile_parse(const char *text, size_t n, const char *name, struct host_list *l,
                   struct eddis_error *err)
{
    const char *end = text + n;
    int number = 0, rc;

    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        cleanup_free char *line = NULL;

        number++;
        stop = stop ? stop : end;
        rc = copy_line(text, (size_t)(stop - text), &line, err);
        if (rc == 0)
            rc = read_line(line, number, l, err);
        if (rc < 0)
            return eddis_fail_prefix(err, rc, "%s:%d", name, number);
        text = stop + (stop < end);
    }
    if (l->n == 0)
        return eddis_fail(err, -EINVAL, "%s:1: the file names no host; write one host per line",
                          name);
    rc = host_list_add_up(l, err);
    return rc < 0 ? eddis_fail_prefix(err, rc, "%s", name) : 0;
}
