/* SPDX-License-Identifier: Apache-2.0 */
/* what_if.c - --what-if and --simulate: predict a job as it is, and with changes */
#include "what_if.h"

#include "cmd/shared/number.h"
#include "comparison.h"
#include "facts.h"
#include "learnt.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "scheduler/drop.h"
#include "simulated.h"

#include <errno.h>
#include <string.h>

/* What the two plans are made from, and the plans */
struct cases {
    struct learnt learnt;
    struct facts today, then;
    struct plan *plan_today, *plan_then;
    struct sim_reached reached_today, reached_then;
    struct strlist note; /* sentences about the predictions */
};

/* Free all cases. */
static void cases_fini(struct cases *s)
{
    plan_free(s->plan_today);
    plan_free(s->plan_then);
    sim_reached_fini(&s->reached_today);
    sim_reached_fini(&s->reached_then);
    facts_fini(&s->today);
    facts_fini(&s->then);
    learnt_fini(&s->learnt);
    strlist_fini(&s->note);
}

#define cleanup_cases __attribute__((cleanup(cases_fini)))

/* Return the option that asks. */
static const char *option_of(const struct what_if *w)
{
    return w->only_today ? "--simulate" : "--what-if";
}

/* Make both plans. Return 0 or a negative error. */
static int plan_both(const struct what_if *w, struct cases *s, struct eddis_error *err)
{
    static const struct what_if_changes none;
    int rc = facts_change(&s->learnt.facts, w->today, &none, &s->today, err);

    if (rc == 0)
        rc = facts_change(&s->learnt.facts, w->then, w->changes, &s->then, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "%s", option_of(w));
    rc = facts_plan(&s->today, w->today, &s->plan_today, err);
    if (rc == 0)
        rc = facts_plan(&s->then, w->then, &s->plan_then, err);
    return rc;
}

/* Simulate both plans. Return 0 or a negative error. */
static int simulate(const struct what_if *w, struct cases *s, struct eddis_error *err)
{
    uint64_t seed = (uint64_t)w->today->seed;
    int rc = facts_simulate(&s->today, w->today, s->plan_today, w->simulate_s, seed,
                            &s->reached_today, err);

    if (rc == 0 && !w->only_today)
        rc = facts_simulate(&s->then, w->then, s->plan_then, w->simulate_s, seed, &s->reached_then,
                            err);
    return rc < 0 ? eddis_fail_prefix(err, rc, "--simulate") : 0;
}

/* Return the length of the name of the node that this node copies; 0: it is no copy, but one
 * of the job's nodes.
 */
static size_t copied(const struct cases *s, const char *host)
{
    const char *plus = strrchr(host, '+');

    for (int i = 0; i < s->today.n_nodes; i++)
        if (strcmp(s->today.node[i].host, host) == 0)
            return 0;
    return plus ? (size_t)(plus - host) : 0;
}

/* Note which nodes are copies, a sentence for each series of copies of one node. */
static void note_copies(struct cases *s)
{
    const struct node_profile *node = s->then.node;

    for (int i = 0, end; i < s->then.n_nodes; i = end) {
        size_t n = copied(s, node[i].host);

        for (end = i + 1; n > 0 && end < s->then.n_nodes; end++)
            if (copied(s, node[end].host) != n || strncmp(node[end].host, node[i].host, n) != 0)
                break;
        if (n > 0 && end == i + 1)
            strlist_addf(&s->note, "%s is planned with the figures of %.*s", node[i].host, (int)n,
                         node[i].host);
        else if (n > 0)
            strlist_addf(&s->note, "%s %s %s are planned with the figures of %.*s", node[i].host,
                         end == i + 2 ? "and" : "to", node[end - 1].host, (int)n, node[i].host);
    }
}

/* Note what the predictions leave out. */
static void note_gaps(const struct what_if *w, struct cases *s)
{
    const char *lacks = s->then.kept.lacks ? s->then.kept.lacks : s->today.kept.lacks;
    bool changes_network = w->changes->bytes_per_s > 0 || w->changes->latency_s > 0;

    if (s->learnt.model.bytes == 0)
        strlist_addf(&s->note, "no earlier job has reported the size of its model, so exchanges "
                               "and other modes are not predicted");
    else if (s->then.n_nodes == 1 && changes_network)
        strlist_addf(&s->note, "with one node, the network between nodes changes nothing");
    else if (s->then.n_nodes > 1 && s->then.bytes_per_s <= 0)
        strlist_addf(&s->note, "the network between the nodes was not measured, and its exchanges "
                               "are not predicted; network=10gbit sets its bandwidth");
    if (lacks)
        strlist_addf(&s->note, "nodes.drop: no worker is left out until a run has measured %s",
                     lacks);
}

/* Note what the simulations assume. */
static void note_simulation(const struct what_if *w, struct cases *s)
{
    if (s->plan_today->relative || s->plan_then->relative)
        strlist_addf(&s->note,
                     "no earlier job has measured the time of steps, only the devices' "
                     "ratios; the simulation is a guess, with steps of %g ms and without "
                     "exchanges",
                     1e3 * SIM_PLAN_STEP_S);
    if (w->today->batch.rebalance < 0 || w->then->batch.rebalance < 0)
        strlist_addf(&s->note, "with batch.rebalance: off the plan stays as it is");
}

/* Return a plan to be compared; it borrows. */
static struct comparison_case case_of(const struct what_if *w, const struct facts *f,
                                      const struct plan *p, const struct sim_reached *reached)
{
    return (struct comparison_case){ .plan = p,
                                     .reached = w->simulate_s > 0 ? reached : NULL,
                                     .latency_s = f->kept.latency_s,
                                     .bytes_per_s = f->kept.bytes_per_s };
}

/* Return what is to be compared; it borrows from s. */
static struct comparison compare(const struct what_if *w, const struct cases *s)
{
    struct comparison c = { .today = case_of(w, &s->today, s->plan_today, &s->reached_today),
                            .then = case_of(w, &s->then, s->plan_then, &s->reached_then),
                            .only_today = w->only_today,
                            .samples = s->learnt.model.samples };

    if (w->only_today)
        c.then = c.today;
    return c;
}

/* Print the answer for people. */
static void print(const struct what_if *w, const struct cases *s, const struct plan_print *o)
{
    const struct comparison c = compare(w, s);
    struct plan_print then = *o;
    bool none = what_if_changes_are_none(w->changes);
    char age[NUMBER_SIZE];

    if (!w->only_today) {
        text_add_clean(o->out, "what if   %s", none ? "nothing changes" : w->text);
        strbuf_add(o->out, "\n");
    }
    if (w->simulate_s > 0) {
        strbuf_add(o->out, "simulate  ");
        simulate_print(w->simulate_s, (uint64_t)w->today->seed, o->out);
    }
    text_add_clean(o->out, "from      job %s, whose nodes were measured %s ago", s->learnt.from.id,
                   number_age(o->now_s - s->learnt.measured_s, age));
    strbuf_add(o->out, "\n\n");
    comparison_print(&c, o->out);
    if (c.then.reached)
        simulated_print_slow(&(struct simulated){ c.then.plan, c.then.reached }, o->out);
    for (size_t i = 0; i < s->note.n; i++) {
        strbuf_add(o->out, i ? "  " : "\n  ");
        text_add_clean(o->out, "%s", s->note.item[i]);
        strbuf_add(o->out, "\n");
    }
    if (w->only_today)
        return;
    strbuf_add(o->out, "\n");
    then.drops = drop_is_wanted(w->then);
    plan_print_plan(&then, s->plan_then, NULL);
}

int what_if(const struct what_if *w, const struct plan_print *o, struct eddis_error *err)
{
    cleanup_cases struct cases s = { 0 };
    cleanup_free char *text = NULL;
    int rc = learnt_load(w->today, w->job_dir, &s.learnt, err);

    if (rc < 0)
        return eddis_fail_prefix(err, rc, "%s", option_of(w));
    rc = plan_both(w, &s, err);
    if (rc == 0 && w->simulate_s > 0)
        rc = simulate(w, &s, err);
    if (rc < 0)
        return rc;
    note_copies(&s);
    note_gaps(w, &s);
    if (w->simulate_s > 0)
        note_simulation(w, &s);
    if (w->json) {
        const struct comparison c = compare(w, &s);
        const struct comparison_about about = { .changes = w->text,
                                                .simulate_s = w->simulate_s,
                                                .seed = (uint64_t)w->today->seed,
                                                .job = s.learnt.from.id,
                                                .measured_s = s.learnt.measured_s,
                                                .note = &s.note };

        rc = comparison_json(&c, &about, &text, err);
        strbuf_add(o->out, text ? text : "");
    } else {
        print(w, &s, o);
    }
    if (rc == 0 && (o->out->failed || s.note.failed))
        rc = eddis_fail(err, -ENOMEM, "no memory for the plans");
    return rc;
}
