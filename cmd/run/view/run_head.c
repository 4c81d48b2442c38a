/* SPDX-License-Identifier: Apache-2.0 */
/* run_head.c - builds the text that is printed before a job starts */
#include "run_head.h"

#include "cmd/run/request/run_resume.h"
#include "dry_run.h"
#include "lib/job/job_keys.h"
#include "lib/job/job_text.h"
#include "lib/model/job.h"

#include <limits.h>
#include <string.h>

/* Print a warning that the job saves no checkpoints, if it runs on several hosts and its file did
 * not choose that.
 */
static void print_no_checkpoints(const struct job *job, struct strbuf *b)
{
    if (job->n_hosts > 1 && job_period_is_never(&job->checkpoint.every) &&
        job_origin(job, "checkpoint.every").kind == JOB_DEFAULT)
        strbuf_add(b,
                   "  no checkpoints are saved until checkpoint.dir names a folder that all nodes "
                   "share\n");
}

/* Print which checkpoint the job continues from; nothing if it begins anew. */
static void print_resume(const struct job *job, struct strbuf *b)
{
    char text[PATH_MAX + 512];

    if (run_resume_text(job, text, sizeof text))
        strbuf_addf(b, "  continues from %s\n", text);
}

/* Check whether the job's file or options set a key about training, which has an effect only for
 * programs that use eddis.
 */
static bool says_training(const struct job *job)
{
    static const char *const group[] = { "batch.",         "sync.",       "learning_rate.",
                                         "communication.", "checkpoint.", "checks.",
                                         "profile.emulate" };
    const struct job_key *key;
    size_t n = job_keys(&key);

    for (size_t i = 0; i < n; i++)
        for (size_t g = 0; g < sizeof group / sizeof *group; g++)
            if (strncmp(key[i].name, group[g], strlen(group[g])) == 0 &&
                job_origin(job, key[i].name).kind != JOB_DEFAULT)
                return true;
    return false;
}

/* Check whether to print a short head, with workers instead of a plan: it is not known whether the
 * program uses eddis, and neither the job nor an option asks for a plan.
 */
static bool is_short_head(const struct run_head *h, const struct run_request *q,
                          const struct plan *p)
{
    return !h->whole && !h->joined && !q->verbose && !q->dry_run && !q->plan_path && !q->detach &&
           !q->check && !q->measure_equal && !p->emulated &&
           strcmp(q->job->checkpoint.resume, "auto") == 0 && !job_runs_trainer(q->job) &&
           !says_training(q->job);
}

/* Borrow the remark for the plan's line, "replayed" or "for a program that uses eddis"; NULL: none.
 */
static const char *plan_remark(const struct run_head *h, const struct run_request *q,
                               const struct plan *p)
{
    if (p->generation <= 1 && q->plan_path)
        return "replayed";
    return h->doubtful && !job_runs_trainer(q->job) ? "for a program that uses eddis" : NULL;
}

/* Print the plan, or only its changes from *before, the text of the previous plan, and store its
 * text in *before. With the first plan (*before is empty) also print the profiles of n nodes and
 * which checkpoint the job continues from.
 */
static void print_whole(const struct plan_print *o, const struct run_request *q, const char *remark,
                        const struct plan *p, const struct node_profile *nodes, int n,
                        struct strbuf *before)
{
    bool first = !before->len;

    if (first)
        plan_print_profiles(o, nodes, n);
    if (q->verbose)
        strbuf_fini(before);
    plan_print_again(o, p, remark, before);
    if (first) {
        print_resume(q->job, o->out);
        print_no_checkpoints(q->job, o->out);
    }
}

/* Store in h->rest the part of the head that is printed only when a worker uses eddis: profiles and
 * plan.
 */
static void keep_rest(struct run_head *h, const struct run_request *q, const struct plan_print *how,
                      const struct plan *p, const struct node_profile *nodes, int n)
{
    struct plan_print o = *how;
    cleanup_strbuf struct strbuf none = { 0 };

    strbuf_fini(&h->rest);
    o.out = &h->rest;
    print_whole(&o, q, NULL, p, nodes, n, &none);
}

/* Print the line of workers, and store the rest of the head in h->rest, if it is unknown whether
 * the program uses eddis. Otherwise print profiles and plan and set h->whole.
 */
static void print_head(struct run_head *h, const struct run_request *q, const struct plan_print *o,
                       const struct plan *p, const struct node_profile *nodes, int n)
{
    if (is_short_head(h, q, p)) {
        plan_print_workers(o, p, nodes, &h->plan);
        keep_rest(h, q, o, p, nodes, n);
        return;
    }
    if (!h->whole)
        h->doubtful = !h->joined;
    h->whole = true;
    print_whole(o, q, plan_remark(h, q, p), p, nodes, n, &h->plan);
}

char *run_head_text(struct run_head *h, const struct run_request *q,
                    const struct job_folder *folder, const struct plan_print *how,
                    const struct plan *p, const struct node_profile *nodes, int n)
{
    struct strbuf text = { 0 };
    struct plan_print o = *how;

    o.out = &text;
    if (!h->printed) {
        plan_print_job(&o, q->job->name, folder ? folder->id : NULL, folder ? folder->path : NULL);
        plan_print_nodes(&o, nodes, n);
    }
    h->printed = true;
    print_head(h, q, &o, p, nodes, n);
    if (q->dry_run || q->verbose) {
        strbuf_add(&text, "\n");
        dry_run_print(q->job, q->verbose, &text);
        dry_run_env(q->env.item, &text);
    }
    strbuf_add(&text, "\n");
    return strbuf_steal(&text);
}

char *run_head_joined(struct run_head *h)
{
    struct strbuf text = { 0 };

    h->joined = true;
    if (!h->rest.len)
        return NULL;
    h->whole = true;
    strbuf_fini(&h->plan);
    h->plan = h->rest;
    h->rest = (struct strbuf){ 0 };
    strbuf_addf(&text, "%s\n", strbuf_text(&h->plan));
    return strbuf_steal(&text);
}

void run_head_fini(struct run_head *h)
{
    strbuf_fini(&h->plan);
    strbuf_fini(&h->rest);
}
