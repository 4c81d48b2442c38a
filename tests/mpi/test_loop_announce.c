/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_announce.c - many gradients by one call, parameters of unlike shapes or without a
 * gradient, and a worker alone with nothing to do, over the loop in every mode
 */
#include "lib/base/clock.h"
#include "loop_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_NS (INT64_C(60) * CLOCK_S)

enum { LAYERS = 4, EACH = 5, N = LAYERS * EACH, LENGTH = 7 };

static const struct mode {
    const char *mode, *algorithm;
    int n, per_group, board;
} modes[] = { { "sync", "allreduce", 1, 0, 0 },
              { "sync", "allreduce", 3, 0, 1 },
              { "async", "easgd", 2, 1, 1 },
              { "hybrid", "hsgd", 4, 2, 1 } };

static void run(const struct mode *m, void (*body)(struct eddis *e, int rank, struct loop_job *j))
{
    struct loop_job j = { .n = m->n,
                          .body = body,
                          .mode = m->mode,
                          .algorithm = m->algorithm,
                          .per_group = m->per_group,
                          .period = m->per_group ? 2 : 0 };

    for (int i = 0; i < j.n; i++)
        j.scenario[i].batch = 8 * j.n;
    if (m->board)
        loop_job_board_of(&j, (const int64_t[MAX_RANKS]){ 8, 8, 8, 8 });
    loop_job_run(&j);
}

static struct eddis_parameter vector(float *value, int64_t n)
{
    return (struct eddis_parameter){ .size = sizeof(struct eddis_parameter),
                                     .name = "w",
                                     .dtype = EDDIS_FLOAT32,
                                     .n_dims = 1,
                                     .dims = { n },
                                     .value = value };
}

/* ---- many by one call ---- */

struct many {
    float value[N][LENGTH], gradient[N][LENGTH], result[N][LENGTH];
    int parameter[N];
    const void *source[N];
    void *to[N];
};

static void many_set_up(struct eddis *e, struct many *m)
{
    struct eddis_error err = { 0 };

    for (int i = 0; i < N; i++) {
        struct eddis_parameter p = vector(m->value[i], LENGTH);
        int layer = i % EACH ? i / EACH : eddis_add_layer(e, "l", EDDIS_LAYER_OTHER, &err);

        CHECK(layer == i / EACH && eddis_add_parameter(e, layer, &p, &err) == i);
    }
    CHECK(eddis_commit(e, &err) == 0);
}

/* Backwards; the first in its slot, the last as zero. */
static void many_fill(struct eddis *e, struct many *m)
{
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < LENGTH; k++)
            m->gradient[i][k] = (float)(i + k);
        m->parameter[i] = N - 1 - i;
        m->source[i] = m->gradient[N - 1 - i];
        m->to[i] = m->result[N - 1 - i];
    }
    memcpy(eddis_gradient(e, N - 1), m->gradient[N - 1], sizeof m->gradient[0]);
    m->source[0] = NULL;
    m->source[N - 1] = EDDIS_ZERO;
}

/* One that is refused, at each place: none is announced, so that all may be announced after it. */
static void many_refused(struct eddis *e, struct many *m)
{
    struct eddis_error err = { 0 };

    for (int i = 0; i < N; i++) {
        int right = m->parameter[i];
        const void *source = m->source[i];

        m->parameter[i] = N;
        CHECK(eddis_announce_many(e, N, m->parameter, m->source, m->to, &err) == -EINVAL);
        CHECK(strstr(err.text, "no parameter 20"));
        m->parameter[i] = m->parameter[(i + 1) % N];
        CHECK(eddis_announce_many(e, N, m->parameter, m->source, m->to, &err) == -EINVAL);
        CHECK(strstr(err.text, "twice"));
        m->parameter[i] = right;
        m->source[i] = EDDIS_IN_PLACE;
        CHECK(eddis_announce_many(e, N, m->parameter, m->source, m->to, &err) == -EINVAL);
        m->source[i] = source;
    }
    CHECK(eddis_set_weight(e, 8, &err) == 0); /* as before the first announcement */
}

static void many_check(const struct many *m, const struct eddis_step *s)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < LENGTH; k++) {
            float wanted = i == 0 ? 0 : (float)(i + k), d = m->result[i][k] - wanted;

            CHECK(s->batch == 0 || (d < 1e-4f && d > -1e-4f));
        }
}

static void many_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct many *m = calloc(1, sizeof *m);
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int begun;

    (void)rank, (void)j;
    many_set_up(e, m);
    many_fill(e, m);
    CHECK(eddis_announce_many(e, N, m->parameter, m->source, m->to, &err) == -EINVAL);
    while ((begun = eddis_step_begin(e, &s, &err)) == 1) {
        many_fill(e, m);
        if (s.step == 1 && s.count == 8)
            many_refused(e, m);
        CHECK(eddis_announce_many(e, 0, NULL, NULL, NULL, &err) == 0);
        if (s.step % 2) { /* some before it */
            CHECK(eddis_announce(e, m->parameter[0], m->source[0], m->to[0], &err) == 0);
            CHECK(eddis_announce_many(e, N, m->parameter, m->source, m->to, &err) == -EINVAL);
            CHECK(eddis_announce_many(e, N - 1, m->parameter + 1, m->source + 1, m->to + 1, &err) ==
                  0);
        } else {
            CHECK(eddis_announce_many(e, N, m->parameter, m->source, m->to, &err) == 0);
        }
        CHECK(eddis_wait_layer(e, LAYERS - 1, TIMEOUT_NS, &err) == 0);
        CHECK(eddis_wait(e, TIMEOUT_NS, &err) == 0);
        CHECK(eddis_announce_many(e, 1, m->parameter, NULL, NULL, &err) == -EINVAL);
        many_check(m, &s);
        CHECK(eddis_step_end(e, NULL, &err) == 0);
    }
    CHECK(begun == 0);
    free(m);
}

int main(void)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        run(&modes[i], many_body);
    if (loop_job_failures)
        fprintf(stderr, "%d failures\n", loop_job_failures);
    return loop_job_failures != 0;
}
