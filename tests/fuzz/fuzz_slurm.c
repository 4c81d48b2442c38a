/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_slurm.c - any bytes as Slurm's variables, one a line, NAME=VALUE: refused, or nodes that are
 * no options, each once
 */
#include "target.h"

#include "lib/base/strlist.h"
#include "lib/hosts/host_name.h"
#include "lib/slurm/slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static _Noreturn void broken(const char *what, const char *text)
{
    fprintf(stderr, "fuzz_slurm: %s: %s\n", what, text);
    abort();
}

/* What every later user of a node relies on. */
static void check(const struct slurm_allocation *a)
{
    if (a->n == 0 || a->n > 16384 || a->groups < 0 || a->groups > SLURM_GROUPS)
        broken("how many", a->job);
    if (!*a->job || a->job[strspn(a->job, "0123456789")])
        broken("no number of a job", a->job);
    for (size_t i = 0; i < a->n; i++) {
        const struct slurm_node *n = &a->node[i];

        if (host_name_check(n->name, NULL) < 0 || *n->name == '-')
            broken("no host", n->name);
        if (n->group < 0 || (n->group && n->group >= a->groups) || n->tasks < 0)
            broken("group or tasks", n->name);
        if (slurm_allocation_find(a, n->name) != n)
            broken("twice", n->name);
        if (i > 64) /* finding one is a look at all */
            return;
    }
}

static const char *variable(void *ctx, const char *name)
{
    const struct strlist *all = ctx;

    return all->n ? strlist_value(all->item, name) : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct slurm_allocation *a = NULL;
    struct eddis_error err = { 0 };
    struct strlist all = { 0 };
    const char *s = (const char *)data, *end = s + n;
    int rc;

    while (s < end) {
        const char *line = memchr(s, '\n', (size_t)(end - s));
        int length = (int)((line ? line : end) - s);

        strlist_addf(&all, "%.*s", length, s);
        s += length + 1;
    }
    rc = slurm_allocation_read(variable, &all, &a, &err);
    if (rc == 1)
        check(a);
    else if (rc < 0 && !*err.text)
        broken("no sentence", "");
    slurm_allocation_free(a);
    strlist_fini(&all);
    return 0;
}
