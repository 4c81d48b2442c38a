/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - the measurement that lib/comm/choose.h is about, over the workers' own transport */
#include "handle.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <math.h>

/* One run of each of the rung's kinds; their seconds where they are the quickest so far. */
static int measure_kinds(struct eddis *e, const struct choose_rung *rung, float *x, double *seconds,
                         struct eddis_error *err)
{
    const struct allreduce a = {
        .data = x, .n = rung->bytes / sizeof *x, .type = COMM_FLOAT32, .rule = COMM_SUM
    };
    int rc = 0;

    for (int k = 0; rc == 0 && k < CHOOSE_KINDS; k++) {
        struct collective *c;
        int64_t began;

        if (!rung->kind[k])
            continue;
        rc = allreduce_new_kind(rung->kind[k], &e->place, &a, &c, err);
        if (rc < 0)
            break;
        began = clock_now_ns();
        rc = request_run(e, "the measurement of the network", c, err);
        seconds[k] = fmin(seconds[k], (double)(clock_now_ns() - began) / (double)CLOCK_S);
    }
    return rc;
}

/* A rung's figures, the same on all ranks. */
static int measure_rung(struct eddis *e, const struct choose_rung *rung, double *seconds,
                        struct eddis_error *err)
{
    cleanup_free float *x = calloc(1, rung->bytes);
    double ignored[CHOOSE_KINDS] = { 0 };
    int rc = x ? 0 : eddis_fail(err, -ENOMEM, "no memory to measure the network");

    rc = handle_agree(e, rc, err);
    if (rc == 0 && rung->warm_up)
        rc = measure_kinds(e, rung, x, ignored, err);
    for (int k = 0; k < CHOOSE_KINDS; k++)
        seconds[k] = INFINITY;
    for (int i = 0; rc == 0 && i < rung->runs; i++)
        rc = measure_kinds(e, rung, x, seconds, err);
    return rc < 0 ? rc
                  : eddis_allreduce(e, seconds, CHOOSE_KINDS, EDDIS_FLOAT64, EDDIS_MAX,
                                    HANDLE_TIMEOUT_NS, err);
}

int measure_allreduce(struct eddis *e, struct choose_result *ret, struct eddis_error *err)
{
    struct choose_rung rung;
    struct chooser c;

    chooser_init(&c, &e->place);
    while (chooser_next(&c, &rung)) {
        double seconds[CHOOSE_KINDS];
        int rc = measure_rung(e, &rung, seconds, err);

        if (rc < 0)
            return rc;
        chooser_note(&c, seconds);
    }
    chooser_choose(&c, ret);
    return 0;
}
