/* SPDX-License-Identifier: Apache-2.0 */
/* host_list.c - build a job's list of hosts, each once, with its total of workers */
#include "host_list.h"

#include "job_host_keys.h"
#include "lib/base/cleanup.h"
#include "lib/base/decimal.h"
#include "lib/base/ip.h"
#include "lib/hosts/host_name.h"
#include "lib/hosts/host_range.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void host_list_fini(struct host_list *l)
{
    job_hosts_free(l->at, l->n);
    free(l->line);
    free(l->column);
    *l = (struct host_list){ 0 };
}

/* Double the list's capacity.  Return 0 or -ENOMEM; the list is then unchanged. */
static int grow(struct host_list *l, struct eddis_error *err)
{
    size_t cap = l->cap ? 2 * l->cap : 16;
    struct job_host *at = realloc(l->at, cap * sizeof *at);
    int *line = at ? realloc(l->line, cap * sizeof *line) : NULL;
    int *column = line ? realloc(l->column, cap * sizeof *column) : NULL;

    l->at = at ? at : l->at;
    l->line = line ? line : l->line;
    l->column = column ? column : l->column;
    if (!column)
        return job_no_memory(err);
    l->cap = cap;
    return 0;
}

/* A word being added to the list */
struct word {
    struct host_list *l;
    const char *user; /* NULL: none */
    int64_t workers;
    int line, column;
};

/* Append one host name with the user and workers of the word in ctx (a host_range_fn).  Return 0 or
 * a negative errno, and then the list is unchanged; -EINVAL: invalid name, or too many hosts.
 */
static int add_name(void *ctx, const char *name, struct eddis_error *err)
{
    const struct word *w = ctx;
    struct host_list *l = w->l;
    struct job_host h = { .workers = w->workers };
    int rc = host_name_check(name, err);

    if (rc < 0)
        return rc;
    if (l->n == JOB_MAX_HOSTS)
        return eddis_fail(err, -EINVAL, "more than %d hosts; write fewer", JOB_MAX_HOSTS);
    rc = l->n == l->cap ? grow(l, err) : 0;
    if (rc < 0)
        return rc;
    h.host = strdup(name);
    h.ssh.user = w->user ? strdup(w->user) : NULL;
    if (!h.host || (w->user && !h.ssh.user)) {
        job_members_free(&job_host_table, &h);
        return job_no_memory(err);
    }
    l->line[l->n] = w->line;
    l->column[l->n] = w->column;
    l->at[l->n++] = h;
    return 0;
}

bool host_list_count(const char *s, size_t n, int64_t *ret)
{
    char text[8];

    if (n == 0 || n >= sizeof text)
        return false;
    memcpy(text, s, n);
    text[n] = '\0';
    return decimal_whole(text, ret) && *ret >= 1 && *ret <= HOST_LIST_WORKERS;
}

/* Return the position in s of the colon before a count: the only colon outside brackets.  NULL:
 * there is none, or several as in an IPv6 address.
 */
static const char *find_count(const char *s)
{
    const char *colon = NULL;
    int depth = 0;

    for (; *s; s++) {
        depth += (*s == '[') - (*s == ']');
        if (*s != ':' || depth > 0)
            continue;
        if (colon)
            return NULL;
        colon = s;
    }
    return colon;
}

/* Parts of a word after its user name */
struct parts {
    const char *host, *count; /* count NULL: the word has no number of workers */
    size_t host_n;
    bool literal; /* the host is an IPv6 address that was in brackets */
};

/* Split "[address]:count" into its parts, which point into s.  Return 0 or -EINVAL. */
static int cut_literal(const char *s, struct parts *ret, struct eddis_error *err)
{
    const char *close = strchr(s, ']');

    if (!close || (close[1] && close[1] != ':'))
        return eddis_fail(err, -EINVAL,
                          "\"%.60s\" is not an IPv6 address in brackets; write one like [fd00::7], "
                          "or [fd00::7]:2 for 2 workers",
                          s);
    *ret = (struct parts){ .host = s + 1,
                           .host_n = (size_t)(close - s - 1),
                           .count = close[1] ? close + 2 : NULL,
                           .literal = true };
    return 0;
}

/* Split "host:count" or "[address]:count" into its parts, which point into s.  Return 0 or -EINVAL.
 */
static int cut(const char *s, struct parts *ret, struct eddis_error *err)
{
    const char *colon;

    if (*s == '[' && memchr(s, ':', strcspn(s, "]")))
        return cut_literal(s, ret, err);
    colon = find_count(s);
    *ret = (struct parts){ .host = s,
                           .host_n = colon ? (size_t)(colon - s) : strlen(s),
                           .count = colon ? colon + 1 : NULL };
    return 0;
}

/* Read the number of workers of a word into *ret.  Return 0 or -EINVAL: it is invalid, or not
 * allowed here (`may` is false).
 */
static int read_count(const char *text, const struct parts *p, bool may, int64_t *ret,
                      struct eddis_error *err)
{
    const char *quote = p->literal ? "\"" : "";

    if (!may)
        return eddis_fail(
            err, -EINVAL,
            "\"%.60s\" has a number after a colon; write {host: %s%.*s%s, workers: %.8s}", text,
            quote, (int)(p->host_n < 60 ? p->host_n : 60), p->host, quote, p->count);
    if (!host_list_count(p->count, strlen(p->count), ret))
        return eddis_fail(err, -EINVAL,
                          "\"%.60s\" has no number of workers from 1 to %d after the colon", text,
                          HOST_LIST_WORKERS);
    return 0;
}

int host_list_add(struct host_list *l, const char *text, bool count, int line, int column,
                  struct eddis_error *err)
{
    const char *at = strrchr(text, '@');
    cleanup_free char *user = at ? strndup(text, (size_t)(at - text)) : NULL;
    struct word w = { .l = l, .user = user, .line = line, .column = column };
    struct parts p = { 0 };
    int rc = at && !user ? job_no_memory(err) : 0;

    if (rc == 0 && user)
        rc = host_user_check(user, err);
    if (rc == 0)
        rc = cut(at ? at + 1 : text, &p, err);
    if (rc == 0 && p.count)
        rc = read_count(text, &p, count, &w.workers, err);
    return rc == 0 ? host_range_expand(p.host, p.host_n, add_name, &w, err) : rc;
}

int host_list_add_line(struct host_list *l, const char *words, struct eddis_error *err)
{
    const char *s = words;

    for (;;) {
        cleanup_free char *word = NULL;
        const char *end;
        int depth = 0, rc;

        s += strspn(s, " \t");
        for (end = s; *end && (depth > 0 || *end != ','); end++)
            depth += (*end == '[') - (*end == ']');
        word = strndup(s, (size_t)(end - s));
        if (!word)
            return job_no_memory(err);
        word[strcspn(word, " \t")] = '\0';
        if (!*word)
            return eddis_fail(err, -EINVAL, "a host is missing; write a list like a:2,c[01-04]");
        rc = host_list_add(l, word, true, 1, (int)(s - words) + 1, err);
        if (rc < 0 || !*end)
            return rc;
        s = end + 1;
    }
}

/* ---- repeated hosts ---- */

/* A host with its index in the list, for sorting */
struct place {
    const char *host;
    char six[IP_CHARS]; /* shortest spelling of an IPv6 address; "": not one */
    size_t index;
};

/* Compare two hosts and return < 0, 0 or > 0: names without regard to case, addresses without
 * regard to spelling.
 */
static int compare_hosts(const struct place *x, const struct place *y)
{
    return strcasecmp(x->six[0] ? x->six : x->host, y->six[0] ? y->six : y->host);
}

/* Order places by host, then by index, for qsort: return a number < 0, 0 or > 0. */
static int by_host(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = compare_hosts(x, y);

    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Return the hosts sorted by name, then by index, for the caller to free; NULL without memory. */
static struct place *sorted(const struct host_list *l)
{
    struct place *p = calloc(l->n + 1, sizeof *p);
    struct ip six;

    for (size_t i = 0; p && i < l->n; i++) {
        p[i] = (struct place){ .host = l->at[i].host, .index = i };
        if (strchr(p[i].host, ':') && ip_parse(p[i].host, &six))
            (void)ip_text(&six, p[i].six);
    }
    if (p)
        qsort(p, l->n, sizeof *p, by_host);
    return p;
}

int host_list_twice(const struct host_list *l, ssize_t *ret_first, ssize_t *ret_second,
                    struct eddis_error *err)
{
    cleanup_free struct place *p = sorted(l);

    if (!p)
        return job_no_memory(err);
    *ret_first = *ret_second = -1;
    for (size_t i = 1; i < l->n; i++)
        if (compare_hosts(&p[i], &p[i - 1]) == 0 &&
            (*ret_second < 0 || p[i].index < (size_t)*ret_second)) {
            *ret_second = (ssize_t)p[i].index;
            *ret_first = (ssize_t)p[i - 1].index;
        }
    return 0;
}

/* Add the workers of `from`, the same host, to `to`, and free the members of `from`.  Return 0 or
 * -EINVAL: they name different users, or have too many workers in all.
 */
static int merge(struct job_host *to, struct job_host *from, struct eddis_error *err)
{
    if (from->ssh.user && to->ssh.user && strcmp(from->ssh.user, to->ssh.user) != 0)
        return eddis_fail(err, -EINVAL,
                          "host \"%s\" is listed twice, with different users: \"%s\" and \"%s\"",
                          to->host, to->ssh.user, from->ssh.user);
    if (!to->ssh.user)
        to->ssh.user = cleanup_keep(from->ssh.user);
    to->workers = (to->workers ? to->workers : 1) + (from->workers ? from->workers : 1);
    if (to->workers > HOST_LIST_WORKERS)
        return eddis_fail(err, -EINVAL, "host \"%s\" has more than %d workers", to->host,
                          HOST_LIST_WORKERS);
    job_members_free(&job_host_table, from);
    return 0;
}

int host_list_add_up(struct host_list *l, struct eddis_error *err)
{
    cleanup_free struct place *p = sorted(l);
    size_t first = 0, kept = 0;
    int rc = p ? 0 : job_no_memory(err);

    for (size_t i = 1; i < l->n && rc == 0; i++) {
        if (compare_hosts(&p[i], &p[first]) == 0)
            rc = merge(&l->at[p[first].index], &l->at[p[i].index], err);
        else
            first = i;
    }
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < l->n; i++) {
        if (!l->at[i].host)
            continue;
        l->line[kept] = l->line[i];
        l->column[kept] = l->column[i];
        l->at[kept++] = l->at[i];
    }
    l->n = kept;
    return 0;
}
