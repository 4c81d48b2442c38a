/* SPDX-License-Identifier: Apache-2.0 */
/* what_if.c - --what-if: predict a job with other nodes, another network or other keys */
#include "what_if.h"

#include "cmd/shared/number.h"
#include "comparison.h"
#include "facts.h"
#include "learnt.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <errno.h>
#include <string.h>

/* What the two plans are made from, and the plans */
struct cases {
    struct learnt learnt;
    struct facts today, then;
    struct plan *plan_today, *plan_then;
    struct strlist note; /* sentences about the predictions */
};

/* Free all cases. */
static void cases_fini(struct cases *s)
{
    plan_free(s->plan_today);
    plan_free(s->plan_then);
    facts_fini(&s->today);
    facts_fini(&s->then);
    learnt_fini(&s->learnt);
    strlist_fini(&s->note);
}

#define cleanup_cases __attribute__((cleanup(cases_fini)))

/* Make both plans. Return 0 or a negative error. */
static int plan_both(const struct what_if *w, struct cases *s, struct eddis_error *err)
{
    static const struct what_if_changes none;
    int rc = facts_change(&s->learnt.facts, w->today, &none, &s->today, err);

    if (rc == 0)
        rc = facts_change(&s->learnt.facts, w->then, w->changes, &s->then, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "--what-if");
    rc = facts_plan(&s->today, w->today, &s->plan_today, err);
    if (rc == 0)
        rc = facts_plan(&s->then, w->then, &s->plan_then, err);
    return rc;
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
    bool changes_network = w->changes->bytes_per_s > 0 || w->changes->latency_s > 0;

    if (s->learnt.model.bytes == 0)
        strlist_addf(&s->note, "no earlier job has reported the size of its model, so exchanges "
                               "and other modes are not predicted");
    else if (s->then.n_nodes == 1 && changes_network)
        strlist_addf(&s->note, "with one node, the network between nodes changes nothing");
    else if (s->then.n_nodes > 1 && s->then.bytes_per_s <= 0)
        strlist_addf(&s->note, "the network between the nodes was not measured, and its exchanges "
                               "are not predicted; network=10gbit sets its bandwidth");
}

/* Return what is to be compared; it borrows from s. */
static struct comparison compare(const struct cases *s)
{
    return (struct comparison){
        .today = { s->plan_today, s->today.latency_s, s->today.bytes_per_s },
        .then = { s->plan_then, s->then.latency_s, s->then.bytes_per_s },
        .samples = s->learnt.model.samples,
    };
}

/* Print the answer for people. */
static void print(const struct what_if *w, const struct cases *s, const struct plan_print *o)
{
    const struct comparison c = compare(s);
    bool none = what_if_changes_are_none(w->changes);
    char age[NUMBER_SIZE];

    text_add_clean(o->out, "what if   %s", none ? "nothing changes" : w->text);
    strbuf_add(o->out, "\n");
    text_add_clean(o->out, "from      job %s, whose nodes were measured %s ago", s->learnt.from.id,
                   number_age(o->now_s - s->learnt.measured_s, age));
    strbuf_add(o->out, "\n\n");
    comparison_print(&c, o->out);
    for (size_t i = 0; i < s->note.n; i++) {
        strbuf_add(o->out, i ? "  " : "\n  ");
        text_add_clean(o->out, "%s", s->note.item[i]);
        strbuf_add(o->out, "\n");
    }
    strbuf_add(o->out, "\n");
    plan_print_plan(o, s->plan_then, NULL);
}

int what_if(const struct what_if *w, const struct plan_print *o, struct eddis_error *err)
{
    cleanup_cases struct cases s = { 0 };
    cleanup_free char *text = NULL;
    int rc = learnt_load(w->today, w->job_dir, &s.learnt, err);

    if (rc < 0)
        return eddis_fail_prefix(err, rc, "--what-if");
    rc = plan_both(w, &s, err);
    if (rc < 0)
        return rc;
    note_copies(&s);
    note_gaps(w, &s);
    if (w->json) {
        const struct comparison c = compare(&s);
        const struct comparison_about about = { w->text, s.learnt.from.id, s.learnt.measured_s,
                                                &s.note };

        rc = comparison_json(&c, &about, &text, err);
        strbuf_add(o->out, text ? text : "");
    } else {
        print(w, &s, o);
    }
    if (rc == 0 && (o->out->failed || s.note.failed))
        rc = eddis_fail(err, -ENOMEM, "no memory for the plans");
    return rc;
}
