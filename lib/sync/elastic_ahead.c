/* SPDX-License-Identifier: Apache-2.0 */
/* elastic_ahead.c - measures reads and steps, and compares them */
#include "elastic_ahead.h"

void elastic_ahead_begin(struct elastic_ahead *a, int64_t since, int64_t left, int64_t now_ns)
{
    a->left = left;
    if (a->over_ns == 0)
        return;
    a->steps = since;
    a->between_ns = now_ns - a->over_ns;
}

void elastic_ahead_end(struct elastic_ahead *a, bool steps, int64_t now_ns)
{
    a->over_ns = steps ? now_ns : 0;
    a->left = steps ? a->left : 0;
}

void elastic_ahead_read(struct elastic_ahead *a, int64_t now_ns)
{
    a->begun_ns = now_ns;
}

void elastic_ahead_have(struct elastic_ahead *a, int64_t now_ns)
{
    a->read_ns = now_ns - a->begun_ns;
}

bool elastic_ahead_is_due(const struct elastic_ahead *a)
{
    double read = (double)a->read_ns;
    double step = a->steps > 0 ? (double)a->between_ns / (double)a->steps : 0;

    return a->left > 0 && step > 0 && read >= READ_AHEAD_LEAST * step &&
           (double)(a->left - 1) <= READ_AHEAD_MARGIN * read / step;
}
