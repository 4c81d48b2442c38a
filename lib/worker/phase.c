/* SPDX-License-Identifier: Apache-2.0 */
#include "phase.h"

#include "lib/base/text.h"

#include <errno.h>
#include <string.h>

void phase_clock_init(struct phase_clock *c, int64_t now_ns)
{
    *c = (struct phase_clock){ .phase = EDDIS_PHASE_START,
                               .since_ns = now_ns,
                               .blocked_ns = INT64_MAX };
}

enum eddis_phase phase_clock_set(struct phase_clock *c, enum eddis_phase phase, int64_t now_ns)
{
    enum eddis_phase before = c->phase;

    c->spent_ns[before] += now_ns - c->since_ns;
    c->phase = phase;
    c->since_ns = now_ns;
    return before;
}

struct board_times phase_clock_step(struct phase_clock *c, int64_t now_ns)
{
    struct board_times t;
    int64_t blocked;

    phase_clock_set(c, EDDIS_PHASE_INPUT, now_ns);
    blocked = c->spent_ns[EDDIS_PHASE_WAIT];
    t.input_ns = c->spent_ns[EDDIS_PHASE_INPUT];
    t.compute_ns = c->spent_ns[EDDIS_PHASE_COMPUTE];
    /* nobody knows yet: the first wait is for those that started later */
    if (c->exposed_ns == INT64_MAX)
        c->exposed_ns = 0;
    t.exposed_ns = blocked < c->exposed_ns ? blocked : c->exposed_ns;
    t.wait_ns = blocked - t.exposed_ns;
    t.total_ns = t.input_ns + t.compute_ns + blocked;
    c->blocked_ns = blocked;
    memset(c->spent_ns, 0, sizeof c->spent_ns);
    return t;
}

void phase_show(struct board *b, const struct phase_clock *c)
{
    struct board_page *p;

    if (!b)
        return;
    p = board_begin(b);
    p->phase = (int32_t)c->phase;
    p->phase_ns = c->since_ns;
    board_end(b);
}

void phase_show_wait(struct board *b, int rank)
{
    if (!b || board_own(b)->waits_for == rank)
        return;
    board_begin(b)->waits_for = rank;
    board_end(b);
}

static void times_add(struct board_times *sum, const struct board_times *t)
{
    sum->input_ns += t->input_ns;
    sum->compute_ns += t->compute_ns;
    sum->exposed_ns += t->exposed_ns;
    sum->wait_ns += t->wait_ns;
    sum->total_ns += t->total_ns;
}

void phase_show_step(struct board *b, const struct board_step *s, const struct eddis_report *report,
                     int64_t sent_bytes)
{
    struct board_page *p;

    if (!b)
        return;
    p = board_begin(b);
    if (s->plan != p->step_plan) {
        p->step_plan = s->plan;
        p->sum_before = p->sum;
        p->steps_before = p->steps_here;
        p->samples_before = p->samples_done;
    }
    p->phase = EDDIS_PHASE_INPUT;
    p->phase_ns = s->end_ns;
    p->steps_done = s->step + 1;
    p->steps_here++;
    p->samples_done += s->count;
    p->bytes_sent = sent_bytes;
    p->overrun_ns += report->overrun_ns;
    if (report->has_loss) {
        p->loss = report->loss;
        p->has_loss = 1;
    }
    times_add(&p->sum, &s->t);
    p->ring[s->step % BOARD_RING] = *s;
    board_end(b);
}

int phase_show_metric(struct board *b, const char *name, double value, struct eddis_error *err)
{
    const struct board_metric *own = b ? board_own(b)->metric : NULL;
    int i = 0;

    if (!text_is_name(name, BOARD_METRIC_NAME - 1))
        return eddis_fail(
            err, -EINVAL,
            "'%.40s' is no name of a metric: at most %d letters, digits, '.', '_', '-'", name,
            BOARD_METRIC_NAME - 1);
    if (!b)
        return 0;
    while (i < BOARD_METRICS && own[i].name[0] && strcmp(own[i].name, name) != 0)
        i++;
    if (i == BOARD_METRICS)
        return eddis_fail(err, -ENOSPC, "no room for metric '%s', there are %d already", name, i);
    struct board_metric *m = &board_begin(b)->metric[i];
    strcpy(m->name, name);
    m->value = value;
    board_end(b);
    return 0;
}
