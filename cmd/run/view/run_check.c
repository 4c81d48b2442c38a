/* SPDX-License-Identifier: Apache-2.0 */
/* run_check.c - prints the result of --check for each node */
#include "run_check.h"

#include "cmd/shared/table.h"
#include "lib/base/cleanup.h"
#include "lib/base/json.h"

#include <string.h>

static const struct table_column columns[] = {
    { "node", false },     { "address", false }, { "eddis", false },
    { "Open MPI", false }, { "devices", true },  { "state", false },
};

/* Columns that are printed if the program of the job is a Python. */
static const struct table_column versions_columns[] = {
    { "node", false }, { "Python", false }, { "torch", false },
    { "CUDA", false }, { "NCCL", false },
};

/* Borrow the word for a node's state: "ready", "not reached", "not ready", or "reached" if it is
 * unknown whether it is ready.
 */
static const char *state_of(const struct driver_check *c)
{
    return c->ready        ? "ready"
           : !c->reached   ? "not reached"
           : c->trouble[0] ? "not ready"
                           : "reached";
}

bool run_check_sentence(const struct driver_check *c, char ret[RUN_CHECK_SENTENCE])
{
    size_t n = strlen(c->host);
    bool named = strncmp(c->trouble, c->host, n) == 0 && c->trouble[n] == ':';

    (void)snprintf(ret, RUN_CHECK_SENTENCE, "%s%.120s%s%.380s", named ? "" : "node ",
                   named ? "" : c->host, named ? "" : ": ", c->trouble);
    return c->trouble[0];
}

/* Return how many of the n nodes are ready. */
static int count_ready(const struct driver_check *node, int n)
{
    int ready = 0;

    for (int i = 0; i < n; i++)
        ready += node[i].ready;
    return ready;
}

/* Print a table of the versions that the program's Python has on each node; nothing if the program
 * is no Python.
 */
static void print_versions(const struct driver_check *node, int n, FILE *out)
{
    cleanup_table struct table t = { .column = versions_columns,
                                     .n_columns =
                                         sizeof versions_columns / sizeof *versions_columns };
    cleanup_strbuf struct strbuf b = { 0 };
    bool any = false;

    for (int i = 0; i < n; i++) {
        const struct program_versions *v = node[i].versions;
        const char *const cell[] = { node[i].host, v->python, v->torch, v->cuda, v->nccl };

        any = any || v->python[0];
        for (size_t k = 0; k < sizeof cell / sizeof *cell; k++)
            table_add(&t, "%s", cell[k][0] ? cell[k] : "-");
    }
    table_print(&t, 2, &b);
    if (any)
        fprintf(out, "%s\n", strbuf_text(&b));
}

void run_check_print(const struct driver_check *node, int n, FILE *out)
{
    cleanup_table struct table t = { .column = columns,
                                     .n_columns = sizeof columns / sizeof *columns };
    cleanup_strbuf struct strbuf b = { 0 };

    for (int i = 0; i < n; i++) {
        const struct driver_check *c = &node[i];

        table_add(&t, "%s", c->host);
        table_add(&t, "%s", c->address[0] ? c->address : "-");
        table_add(&t, "%s", c->eddis[0] ? c->eddis : "-");
        table_add(&t, "%s", c->mpi[0] ? c->mpi : "-");
        if (c->devices)
            table_add(&t, "%d", c->devices);
        else
            table_add(&t, "-");
        table_add(&t, "%s", state_of(c));
    }
    table_print(&t, 2, &b);
    fprintf(out, "%s\n", strbuf_text(&b));
    print_versions(node, n, out);
    fprintf(out, "%s ready; nothing was trained\n",
            count_ready(node, n) < n ? "not"
            : n == 1                 ? "the node is"
                                     : "all nodes are");
}

void run_check_json(const struct driver_check *node, int n, FILE *out)
{
    cleanup_json json_t *list = json_array(), *o = NULL;
    cleanup_free char *text = NULL;

    for (int i = 0; list && i < n; i++) {
        const struct driver_check *c = &node[i];
        json_t *item =
            json_pack("{s:s, s:s, s:s, s:s, s:i, s:b, s:b, s:s, s:s, s:s, s:s, s:s}", "node",
                      c->host, "address", c->address, "eddis", c->eddis, "mpi", c->mpi, "devices",
                      c->devices, "reached", c->reached, "ready", c->ready, "trouble", c->trouble,
                      "python", c->versions->python, "torch", c->versions->torch, "cuda",
                      c->versions->cuda, "nccl", c->versions->nccl);

        if (json_array_append_new(list, item) < 0)
            break;
    }
    o = json_pack("{s:i, s:b, s:O}", "schema_version", 1, "ready", count_ready(node, n) == n,
                  "nodes", list);
    text = o ? json_text(o, true) : NULL;
    fprintf(out, "%s\n", text ? text : "null");
}
