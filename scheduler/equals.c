/* SPDX-License-Identifier: Apache-2.0 */
/* equals.c - compare the devices of a plan's workers by their profiles */
#include "equals.h"

#include "cpus.h"

#include <math.h>
#include <string.h>

static const double WITHIN = 1.1; /* ratio of two measurements of equal devices, at most */

/* Borrow the device of worker w from its node's profile; NULL: the profile lacks it. */
static const struct device *device_of(const struct node_profile *node, const struct plan_worker *w)
{
    for (int i = 0; i < node->n_devices; i++)
        if (node->device[i].kind == w->kind && strcmp(node->device[i].id, w->device_id) == 0)
            return &node->device[i];
    return NULL;
}

/* Check whether two figures are equal, or both are lacking (0 or NAN). */
static bool is_like(double a, double b)
{
    bool has_a = isfinite(a) && a > 0, has_b = isfinite(b) && b > 0;

    if (!has_a || !has_b)
        return has_a == has_b;
    return fmax(a, b) <= WITHIN * fmin(a, b);
}

/* Check whether two devices have equal figures. */
static bool are_like(const struct device *a, const struct device *b)
{
    const double figure[][2] = {
        { a->fp32_flops, b->fp32_flops },
        { a->tf32_flops, b->tf32_flops },
        { a->bf16_flops, b->bf16_flops },
        { a->fp16_flops, b->fp16_flops },
        { a->rate, b->rate },
        { a->memory_bytes_per_s, b->memory_bytes_per_s },
        { a->fixed_s, b->fixed_s },
        { a->sample_s, b->sample_s },
    };

    for (size_t i = 0; i < sizeof figure / sizeof *figure; i++)
        if (!is_like(figure[i][0], figure[i][1]))
            return false;
    return true;
}

/* Return how many workers of the plan share the processors of worker w: those of its node that are
 * bound to the same ones, or to none.
 */
static int sharers(const struct plan *p, const struct plan_worker *w)
{
    int n = 0;

    for (int i = 0; i < p->n_workers; i++)
        n += p->worker[i].node == w->node && strcmp(p->worker[i].cpus, w->cpus) == 0;
    return n;
}

/* Check whether the workers a and b of the plan have equal devices. */
static bool are_equal(const struct plan *p, const struct node_profile *node,
                      const struct plan_worker *a, const struct plan_worker *b)
{
    const struct device *x = device_of(&node[a->node], a), *y = device_of(&node[b->node], b);
    int cpu[CPUS_MAX];

    if (!x || !y || a->kind != b->kind || !are_like(x, y))
        return false;
    if (a->kind == DEVICE_CUDA)
        return strcmp(x->name, y->name) == 0;
    return a->kind != DEVICE_CPU ||
           (strcmp(node[a->node].cpu_model, node[b->node].cpu_model) == 0 &&
            cpus_parse(a->cpus, cpu, NULL) == cpus_parse(b->cpus, cpu, NULL) &&
            sharers(p, a) == sharers(p, b));
}

void equals_find(const struct plan *p, const struct node_profile *node, int *ret)
{
    for (int i = 0; i < p->n_workers; i++) {
        ret[i] = i;
        for (int j = 0; j < i && ret[i] == i; j++)
            if (ret[j] == j && are_equal(p, node, &p->worker[j], &p->worker[i]))
                ret[i] = j;
    }
}
