/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c - waits after each layer until its part of the step's time is over */
#include "pace.h"

#include "lib/base/clock.h"

#include <sys/prctl.h>

void pace_begin(struct pace *p, int64_t now_ns, int64_t total_ns)
{
    if (!p->n_layers)
        return;
    /* The kernel may otherwise wake a thread 50 us late to save power. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    p->start_ns = now_ns - p->credit_ns;
    p->total_ns = total_ns;
    p->credit_ns = 0;
    p->before = 0;
    p->part = 1;
}

void pace_piece(struct pace *p, int64_t first, int64_t n, int64_t count)
{
    p->before = (double)first / (double)count;
    p->part = (double)n / (double)count;
}

/* Sleep until this fraction (0 to 1) of the present micro-batch's time has passed. */
static void until(const struct pace *p, double part)
{
    double at = p->before + part * p->part;

    clock_sleep_until_ns(p->start_ns + (int64_t)(at * (double)p->total_ns));
}

void pace_forward(const struct pace *p, int layer)
{
    if (p->n_layers)
        until(p, (layer + 1) / (3.0 * p->n_layers));
}

void pace_backward(const struct pace *p, int layer)
{
    if (p->n_layers && layer > 0)
        until(p, 1 - 2.0 * layer / (3.0 * p->n_layers));
    else if (p->n_layers) /* other workers wait for the last gradients, so be exact */
        clock_wait_until_ns(p->start_ns + (int64_t)((p->before + p->part) * (double)p->total_ns));
}

int64_t pace_overrun_ns(const struct pace *p)
{
    int64_t over = p->n_layers ? clock_now_ns() - p->start_ns - p->total_ns : 0;

    return over > 0 ? over : 0;
}

void pace_credit(struct pace *p, int64_t work_ns)
{
    if (p->n_layers)
        p->credit_ns += work_ns;
}
