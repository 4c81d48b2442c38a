/* SPDX-License-Identifier: Apache-2.0 */
/* manual_keys.c - eddis-train.yaml(5) against the table of keys: manual_keys PAGE
 *
 * Each row stands in the page, in the table's order and words, and nothing else does; those of
 * later versions have a section of their own, a line each.  The page's examples are jobs, the
 * second with every key.
 */
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/job/job_keys.h"
#include "lib/job/job_read.h"
#include "lib/job/job_text.h"
#include "lib/model/job.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const char *what, const char *name)
{
    fprintf(stderr, "manual_keys: %s: %s\n", name, what);
    return 1;
}

/* Returns what the page must say at this row: the item, and type and default or what it waits for.
 */
static char *expected(const struct job_key *k)
{
    struct strbuf b = { 0 };

    strbuf_addf(&b, ".It Ic %s\n", k->name);
    if (!k->later)
        strbuf_addf(&b, "(%s; default: %s)\n", k->type, k->initial);
    strbuf_addf(&b, "%c%s", toupper((unsigned char)k->help[0]), k->help + 1);
    if (k->later)
        strbuf_addf(&b, "; waits for %s", k->later);
    strbuf_add(&b, ".\n");
    return strbuf_steal(&b);
}

/* The rows of this version, or of later ones, from `at` on. */
static int check_rows(const char *at, bool later)
{
    const struct job_key *keys;
    size_t n = job_keys(&keys);

    for (size_t i = 0; i < n; i++) {
        cleanup_free char *want = NULL;
        const char *found;

        if (!keys[i].later == later)
            continue;
        want = expected(&keys[i]);
        found = want ? strstr(at, want) : NULL;
        if (!found) {
            fprintf(stderr, "%s", want ? want : "");
            return complain("is not in the page, or not in the table's order and words",
                            keys[i].name);
        }
        at = found;
    }
    return 0;
}

static int check_keys(const char *page)
{
    const struct job_key *keys;
    const char *later = strstr(page, "\n.Sh KEYS OF LATER VERSIONS\n"), *at = page;
    size_t n = job_keys(&keys), items = 0;

    if (!later)
        return complain("has no section of the keys of later versions", "KEYS");
    if (check_rows(page, false) || check_rows(later, true))
        return 1;
    for (; (at = strstr(at, "\n.It Ic ")) != NULL; at++)
        items++;
    return items == n ? 0 : complain("the page has items that are no keys", "KEYS");
}

/* Returns the next literal block and moves *at behind it, or NULL. */
static char *next_example(const char **at)
{
    static const char begin[] = "\n.Bd -literal -offset indent\n", end[] = "\n.Ed\n";
    const char *first = strstr(*at, begin), *last;

    if (!first)
        return NULL;
    first += strlen(begin);
    last = strstr(first, end);
    if (!last)
        return NULL;
    *at = last;
    return strndup(first, (size_t)(last - first) + 1);
}

/* Written in the place of nodes. */
static bool is_alternative(const char *key)
{
    return strcmp(key, "hostfile") == 0 || strncmp(key, "slurm.components", 16) == 0;
}

/* The job's file has every key of this version that goes with the others. */
static int check_complete(const struct job *job)
{
    const struct job_key *keys;
    size_t n = job_keys(&keys);

    for (size_t i = 0; i < n; i++)
        if (!keys[i].later && !is_alternative(keys[i].name) &&
            job_origin(job, keys[i].name).kind != JOB_FILE)
            return complain("is missing in the example of every key", keys[i].name);
    return 0;
}

static int check_examples(const char *page)
{
    const char *at = strstr(page, "\n.Sh EXAMPLES\n");
    int n = 0;

    for (; at; n++) {
        cleanup_free char *text = next_example(&at);
        struct eddis_error err = { 0 };
        struct job *job = NULL;
        bool complete;

        if (!text)
            break;
        if (job_parse(text, strlen(text), "example", "/work", &job, &err) < 0)
            return complain(err.text, "EXAMPLES");
        complete = n != 1 || check_complete(job) == 0;
        job_free(job);
        if (!complete)
            return 1;
    }
    return n >= 2 ? 0 : complain("has fewer than two examples", "EXAMPLES");
}

int main(int argc, char **argv)
{
    cleanup_free char *page = NULL;
    struct eddis_error err;

    if (argc != 2 || file_read(argv[1], 1 << 20, &page, NULL, &err) < 0)
        return complain(argc == 2 ? err.text : "usage: manual_keys PAGE", "manual_keys");
    return check_keys(page) || check_examples(page) ? EXIT_FAILURE : EXIT_SUCCESS;
}
