/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - make, free, read and write plans; plan_json.c converts their members */
#include "plan.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <errno.h>
#include <string.h>

/* Limit of a plan file.  It is large enough for the longest texts of PLAN_MAX_WORKERS workers, so
 * that only the number of workers is a limit for plans.
 */
enum { PLAN_MAX_BYTES = PLAN_MAX_WORKERS * 1024 };

struct plan *plan_new(int n_nodes, int n_workers)
{
    struct plan *p;

    if (n_nodes < 0 || n_workers < 0)
        return NULL;
    p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->node = calloc((size_t)n_nodes + 1, sizeof *p->node);
    p->worker = calloc((size_t)n_workers + 1, sizeof *p->worker);
    p->n_nodes = n_nodes;
    p->n_workers = n_workers;
    if (p->node && p->worker)
        return p;
    plan_free(p);
    return NULL;
}

struct plan *plan_copy(const struct plan *p)
{
    struct plan *c = plan_new(p->n_nodes, p->n_workers), own;

    if (!c)
        return NULL;
    own = *c;
    *c = *p;
    c->node = own.node;
    c->worker = own.worker;
    c->choice = NULL;
    memcpy(c->node, p->node, (size_t)p->n_nodes * sizeof *c->node);
    memcpy(c->worker, p->worker, (size_t)p->n_workers * sizeof *c->worker);
    if (!p->choice)
        return c;
    c->choice = malloc(sizeof *c->choice);
    if (!c->choice) {
        plan_free(c);
        return NULL;
    }
    *c->choice = *p->choice;
    return c;
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    free(p->node);
    free(p->worker);
    free(p->choice);
    free(p);
}

int plan_read(const char *path, struct plan **ret, struct eddis_error *err)
{
    cleanup_free char *text = NULL;
    size_t n;
    int rc = file_read(path, PLAN_MAX_BYTES, &text, &n, err);

    return rc < 0 ? rc : plan_parse(text, n, path, ret, err);
}
