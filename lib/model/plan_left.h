/* SPDX-License-Identifier: Apache-2.0 */
/* plan_left.h - workers that a plan leaves out, and why */
#ifndef EDDIS_MODEL_PLAN_LEFT_H
#define EDDIS_MODEL_PLAN_LEFT_H

#include "lib/base/strbuf.h"

#include <stddef.h>

enum { PLAN_MAX_LEFT = 16 };

/* Equal workers that a plan leaves out, because it makes more progress without them */
struct plan_left {
    char node[256];         /* node of the first one */
    int worker;             /* index of the first one among all workers of its node, from 0 */
    int n_nodes, n_workers; /* number of these workers, and of their nodes */
    char device[96];        /* device of the first one, as in struct plan_worker */
    double without, with;   /* predicted progress without these workers, and with them */
};

/* The members of a plan_left in JSON */
extern const struct fields plan_left_table;

/* Write to ret [size] which workers were left out and why: "node3 worker 2 (cpu 0-1): 882 000
 * samples/s without it, 180 000 with it".
 */
void plan_left_text(const struct plan_left *l, char *ret, size_t size);

/* Append a line with `before` and the text of each of n. */
void plan_left_print(const struct plan_left *l, int n, const char *before, struct strbuf *b);

#endif
