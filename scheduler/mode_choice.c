/* SPDX-License-Identifier: Apache-2.0 */
/* mode_choice.c - predicts each algorithm, chooses one, and writes the reason */
#include "mode_choice.h"

#include "groups.h"
#include "objective.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/model/algorithm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- predictions of the algorithms ---- */

/* An algorithm that could be chosen, and its prediction. */
struct candidate {
    const struct algorithm *algorithm;
    struct objective_choice is;
};

/* All candidates; the first one is the default, chosen if no other is better. */
struct choice {
    struct objective_input in; /* `wanted`: the job's options */
    struct sync_options kept; /* options of the wanted algorithm: those that the job goes on with */
    /* groups with ALGORITHM_ROUNDS: those by node first, then all that `in` has */
    struct objective_groups rounds[GROUPS_CHOICES + 1];
    int n_rounds;
    int64_t most_writers; /* most models for which the global batch has samples */
    struct candidate candidate[PLAN_MAX_CANDIDATES];
    int n;
};

struct modes_setup planner_network(const struct plan *p, const struct planner_history *history)
{
    bool known = history->samples > 0 && p->global_batch > 0;

    return (struct modes_setup){
        .n_nodes = p->n_nodes,
        .steps = known ? (history->samples - 1) / p->global_batch + 1 : 0,
        .epoch_steps = known ? (double)history->samples_in_epoch / (double)p->global_batch : 0,
        .model_bytes = history->model_bytes,
        .program = history->program,
        .bucket_bytes = p->bucket_bytes,
        .n_gradients = history->n_gradients,
        .latency_s = history->latency_s,
        .bytes_per_s = history->bytes_per_s,
        .wire = p->options.wire,
        .overlap = program_is_external(&history->program) ? 0 : p->options.overlap
    };
}

/* Fill w [n_workers] and *ret, which borrows w, with the plan's workers and what is known of model
 * and network. If the workers' times are ratios, leave model and network out: ratios cannot be
 * compared with seconds.
 */
static void fill_setup(const struct plan *p, const struct planner_history *history,
                       struct modes_worker *w, struct modes_setup *ret)
{
    const struct planner_history only_samples = { .samples = history->samples,
                                                  .samples_in_epoch = history->samples_in_epoch };

    for (int i = 0; i < p->n_workers; i++)
        w[i] = (struct modes_worker){
            .t = { .fixed_s = p->worker[i].fixed_s, .sample_s = p->worker[i].sample_s },
            .batch = p->worker[i].batch,
            .node = p->worker[i].node,
        };
    *ret = planner_network(p, p->relative ? &only_samples : history);
    ret->worker = w;
    ret->n = p->n_workers;
}

/* Predict the throughput of an equal split in synchronous training, and store it in the plan. The
 * batches of w, the workers of the setup, become equal, and the setup's wire format that of the
 * first candidate. f->candidate must be filled.
 */
static void predict_equal(struct choice *f, struct modes_worker *w, struct plan *p)
{
    for (int i = 0; i < p->n_workers; i++)
        w[i].batch = p->worker[i].equal_batch;
    f->in.setup.wire = f->candidate[0].is.options.wire;
    p->equal_samples_per_s = modes_sync(&f->in.setup);
}

/* Borrow the algorithm that the job asks for or has begun with; NULL: the choice is open. */
static const struct algorithm *wanted_algorithm(const struct job *job,
                                                const struct planner_history *history)
{
    if (!algorithm_is_open(job->sync.mode, job->sync.algorithm))
        return algorithm_asked(job->sync.mode, job->sync.algorithm);
    return history->algorithm ? algorithm_find(history->algorithm) : NULL;
}

/* Fill f->candidate with every algorithm that a plan may choose, and its prediction; with
 * ALGORITHM_NAMED only the wanted one. wanted: of wanted_algorithm. Return 0 or a negative errno
 * value.
 */
static int predict_all(struct choice *f, const struct algorithm *wanted, struct eddis_error *err)
{
    const struct algorithm *row;
    size_t n = algorithms(&row);
    int rc = 0;

    for (size_t i = 0; i < n && rc >= 0 && f->n < PLAN_MAX_CANDIDATES; i++) {
        struct candidate *c = &f->candidate[f->n];
        struct objective_input in = f->in;

        if (row[i].traits & ALGORITHM_EXTERNAL ||
            (row[i].traits & ALGORITHM_NAMED && &row[i] != wanted))
            continue;
        if (row[i].traits & ALGORITHM_ROUNDS) {
            in.groups = f->rounds;
            in.n_groups = f->n_rounds;
        }
        if (&row[i] == wanted)
            in.wanted = &f->kept;
        f->n++;
        c->algorithm = &row[i];
        rc = objective_best(c->algorithm, &in, &c->is, err);
    }
    return rc;
}

/* ---- the choice and its reason ---- */

/* Return samples per second times efficiency, by which candidates are compared. */
static double progress(const struct candidate *c)
{
    return forecast_progress(c->is.forecast);
}

/* Check whether this mode trains several models in general, but would have only one here. Hybrid
 * with one group waits for all workers, as sync does.
 */
static bool is_one_model(const struct candidate *c)
{
    return (c->algorithm->traits & ALGORITHM_SEVERAL) && c->is.writers == 1;
}

/* Check whether the global batch is too small to give each of this mode's models samples. */
static bool is_starved(const struct choice *f, const struct candidate *c)
{
    return c->is.writers > f->most_writers;
}

/* Check whether eddis may choose this candidate by itself. */
static bool is_offered(const struct choice *f, const struct candidate *c)
{
    return !is_one_model(c) && !is_starved(f, c);
}

/* Borrow the candidate with most progress, other than the default; NULL: none is offered. */
static const struct candidate *best_other(const struct choice *f)
{
    const struct candidate *best = NULL;

    for (int i = 1; i < f->n; i++)
        if (is_offered(f, &f->candidate[i]) &&
            (!best || progress(&f->candidate[i]) > progress(best)))
            best = &f->candidate[i];
    return best;
}

/* Borrow the name of the candidate's mode. */
static const char *mode_of(const struct candidate *c)
{
    return sync_mode_name(c->algorithm->mode);
}

/* Check whether the candidate sends gradients unrounded. */
static bool is_exact(const struct candidate *c)
{
    return !sync_wire_is_half(c->is.options.wire);
}

/* Return the factor by which a candidate must exceed the default's progress to be chosen: only
 * exactness is worth a margin.
 */
static double margin(const struct choice *f)
{
    return is_exact(&f->candidate[0]) ? ALGORITHM_MARGIN : 1;
}

/* Check whether a candidate makes enough more progress than the default to be chosen. */
static bool is_better(const struct choice *f, const struct candidate *c)
{
    return c && progress(c) > progress(&f->candidate[0]) * margin(f);
}

/* Borrow the words for what must be measured before modes are compared; NULL: nothing is missing.
 */
static const char *what_lacks(const struct choice *f, const struct planner_history *history,
                              const struct plan *p)
{
    if (history->model_bytes <= 0)
        return "how large the model is";
    if (p->n_nodes > 1 && history->bytes_per_s <= 0)
        return "how fast the network is";
    /* Ratios of workers' times cannot be compared with the seconds of exchanges. */
    return p->relative && is_better(f, best_other(f)) ? "how fast the workers are" : NULL;
}

/* Return the progress of candidate a relative to b. */
static double times(const struct candidate *a, const struct candidate *b)
{
    return progress(a) / progress(b);
}

/* Write the plan's reason for choosing the default. best: the best other candidate, or NULL; lacks:
 * what is not measured yet, or NULL.
 */
static void say_sync(const struct choice *f, const struct candidate *best, const char *lacks,
                     struct plan *p)
{
    const char *merit = is_exact(&f->candidate[0]) ? "it is exact" : "its workers train one model";

    if (lacks)
        snprintf(p->reason, sizeof p->reason,
                 "sync because %s; other modes are compared once a run has measured %s", merit,
                 lacks);
    else if (!best)
        snprintf(p->reason, sizeof p->reason,
                 "sync because %s, and the global batch is too small for more models", merit);
    else
        snprintf(p->reason, sizeof p->reason,
                 "sync because %s, and no other mode is predicted to make %smore progress (%s %.2f "
                 "times that of sync)",
                 merit, is_exact(&f->candidate[0]) ? "5 % " : "", mode_of(best),
                 times(best, &f->candidate[0]));
}

/* Write the plan's reason for choosing a candidate other than the default. */
static void say_other(const struct choice *f, const struct candidate *best, struct plan *p)
{
    const struct candidate *next = NULL;

    for (int i = 1; i < f->n; i++)
        if (&f->candidate[i] != best && is_offered(f, &f->candidate[i]) &&
            (!next || progress(&f->candidate[i]) > progress(next)))
            next = &f->candidate[i];
    snprintf(p->reason, sizeof p->reason,
             "%s because it is predicted to make %.2f times the progress of sync", mode_of(best),
             times(best, &f->candidate[0]));
    if (next)
        text_append(p->reason, sizeof p->reason, " and %.2f times that of %s", times(best, next),
                    mode_of(next));
}

/* Append to the plan's reason that the prediction does not count the lateness of rounds' results,
 * if the next rounds' steps overlap with combining them.
 */
static void say_late(struct plan *p)
{
    if (p->options.overlap > 0 && !program_is_external(&p->program))
        text_append(p->reason, sizeof p->reason,
                    "; the efficiency does not count that models are combined %lld step%s late",
                    (long long)p->options.overlap, p->options.overlap == 1 ? "" : "s");
}

/* Borrow the algorithm that the job asks for or has begun with, and write the plan's reason; NULL:
 * the choice is open.
 */
static const struct algorithm *settled(const struct job *job, const struct planner_history *history,
                                       struct plan *p)
{
    bool open = algorithm_is_open(job->sync.mode, job->sync.algorithm);
    const struct algorithm *a = wanted_algorithm(job, history);

    if (a)
        snprintf(p->reason, sizeof p->reason, "%s because the job %s", sync_mode_name(a->mode),
                 open ? "has begun with it" : "asks for it");
    return a;
}

/* Reason why a candidate was chosen, to explain why the others were not.
 */
enum why { WHY_ASKED, WHY_BEGUN, WHY_PROGRAM, WHY_ALONE, WHY_BETTER, WHY_EXACT };

/* Choose a candidate and return it, write the plan's reason, and fill *ret_why. past: what the job
 * has begun with; lacks: what is not measured yet, or NULL.
 */
static const struct candidate *choose(const struct job *job, const struct choice *f,
                                      const struct planner_history *past, const char *lacks,
                                      struct plan *p, enum why *ret_why)
{
    bool open = algorithm_is_open(job->sync.mode, job->sync.algorithm);
    bool external = open && program_is_external(&p->program);
    const struct algorithm *wanted = external ? NULL : settled(job, past, p);
    const struct candidate *best = best_other(f);

    *ret_why = open ? WHY_BEGUN : WHY_ASKED;
    for (int i = 0; wanted && i < f->n; i++)
        if (f->candidate[i].algorithm == wanted)
            return &f->candidate[i];
    *ret_why = external ? WHY_PROGRAM : p->n_workers == 1 ? WHY_ALONE : WHY_EXACT;
    if (external)
        snprintf(p->reason, sizeof p->reason,
                 "sync because the program's gradients are combined by %s", p->program.gradients);
    else if (p->n_workers == 1)
        snprintf(p->reason, sizeof p->reason, "sync because there is one worker");
    else if (!lacks && is_better(f, best)) {
        say_other(f, best, p);
        *ret_why = WHY_BETTER;
        return best;
    } else
        say_sync(f, best, lacks, p);
    return &f->candidate[0];
}

/* Return the options that the job asks for, with its wire format; 0: open. */
static struct sync_options asked_options(const struct job *job)
{
    struct sync_options ret = job->sync.options;

    if (!ret.wire)
        ret.wire = sync_wire_find(job->communication.wire);
    return ret;
}

/* Return the options with which the job goes on: those in force, or those that it asks for, with
 * the wire format that it began with.
 */
static struct sync_options kept_options(const struct sync_options *asked,
                                        const struct planner_history *history)
{
    struct sync_options ret = history->kept ? *history->kept : *asked;

    if (!ret.wire)
        ret.wire = asked->wire ? asked->wire : history->wire;
    return ret;
}

/* Append to the plan's reason that 16 bits are sent between nodes, if eddis chose that by itself,
 * or that the job's wire format has no effect.
 */
static void say_wire(const struct job *job, const struct candidate *taken, struct plan *p)
{
    if (program_is_external(&p->program) && sync_wire_find(job->communication.wire))
        text_append(p->reason, sizeof p->reason,
                    "; communication.wire has no effect on its gradients");
    if (taken->is.wire_gain >= 1.005)
        text_append(p->reason, sizeof p->reason,
                    "; %s as %s between nodes: predicted %.2f times the progress of float32",
                    taken->algorithm->traits & ALGORITHM_ROUNDS ? "gradients and models"
                                                                : "gradients",
                    sync_wire_name(taken->is.options.wire), taken->is.wire_gain);
}

/* ---- filling in the plan ---- */

/* Write into *ret why candidate c was not chosen. */
static void say_lost(const struct choice *f, const struct candidate *c, enum why why,
                     const char *lacks, struct plan_candidate *ret)
{
    double part = progress(c) / progress(&f->candidate[0]);

    if (why == WHY_ASKED)
        snprintf(ret->lost, sizeof ret->lost, "the job asks for another");
    else if (why == WHY_BEGUN)
        snprintf(ret->lost, sizeof ret->lost, "the job has begun with another");
    else if (why == WHY_PROGRAM)
        snprintf(ret->lost, sizeof ret->lost, "the program combines its gradients itself");
    else if (why == WHY_ALONE)
        snprintf(ret->lost, sizeof ret->lost, "there is one worker");
    else if (is_one_model(c))
        snprintf(ret->lost, sizeof ret->lost, "its workers would be one group, as in sync");
    else if (is_starved(f, c))
        snprintf(ret->lost, sizeof ret->lost, "the global batch is too small for its %d models",
                 c->is.writers);
    else if (why == WHY_BETTER)
        snprintf(ret->lost, sizeof ret->lost, "another is predicted to make more progress");
    else if (lacks)
        snprintf(ret->lost, sizeof ret->lost, "it is compared once a run has measured %s", lacks);
    else
        snprintf(ret->lost, sizeof ret->lost, "its predicted progress is %.2f times that of %s, %s",
                 part, mode_of(&f->candidate[0]),
                 is_exact(&f->candidate[0]) ? "which is exact" : "whose workers train one model");
}

/* List all candidates in the plan, with predictions and why each was not chosen. */
static void list_candidates(const struct choice *f, const struct candidate *taken, enum why why,
                            const char *lacks, struct plan *p)
{
    p->n_candidates = f->n;
    for (int i = 0; i < f->n; i++) {
        const struct candidate *c = &f->candidate[i];
        struct plan_candidate *to = &p->candidate[i];

        *to = (struct plan_candidate){ .options = c->is.options };
        if (c == taken || !is_one_model(c)) {
            to->predicted_samples_per_s = c->is.forecast.samples_per_s;
            to->efficiency = c->is.forecast.efficiency;
            to->predicted_progress = progress(c);
            to->measured = efficiency_is_measured(f->in.measured, c->algorithm);
        }
        snprintf(to->mode, sizeof to->mode, "%s", mode_of(c));
        snprintf(to->algorithm, sizeof to->algorithm, "%s", c->algorithm->name);
        if (c != taken)
            say_lost(f, c, why, lacks, to);
    }
}

/* Write the chosen candidate's mode, options, prediction and groups into the plan. */
static void take(const struct candidate *c, struct plan *p)
{
    const int *group = c->is.group;
    bool several = c->algorithm->traits & ALGORITHM_SEVERAL;

    snprintf(p->mode, sizeof p->mode, "%s", mode_of(c));
    snprintf(p->algorithm, sizeof p->algorithm, "%s", c->algorithm->name);
    p->options = c->is.options;
    p->predicted_samples_per_s = c->is.forecast.samples_per_s;
    p->n_groups = 0;
    for (int i = 0; i < p->n_workers; i++) {
        p->worker[i].group = !several ? 0 : group ? group[i] : i;
        p->n_groups = p->worker[i].group >= p->n_groups ? p->worker[i].group + 1 : p->n_groups;
    }
}

/* List in *ret the groups that a grouped algorithm may use; a plan in force keeps its groups.
 * Return 0; -EINVAL: sync.groups does not fit the workers; -ENOMEM. groups_fini frees *ret in each
 * case.
 */
static int list_groups(const struct job *job, const struct planner_history *history,
                       const struct plan *p, int64_t most, struct groups_choices *ret,
                       struct eddis_error *err)
{
    cleanup_free struct group_worker *w = calloc((size_t)p->n_workers, sizeof *w);
    cleanup_free int *began_as = calloc((size_t)p->n_workers, sizeof *began_as);
    cleanup_free int *of = calloc((size_t)p->n_workers, sizeof *of);
    struct job_groups wanted = job->sync.groups;

    *ret = (struct groups_choices){ 0 };
    if (!w || !began_as || !of)
        return eddis_fail(err, -ENOMEM, "no memory for groups");
    for (int i = 0; i < p->n_workers; i++) {
        const struct plan_worker *x = &p->worker[i];

        w[i] = (struct group_worker){ x->node, 1 / x->sample_s };
        of[i] = x->group;
        if (history->began_as)
            began_as[i] = history->began_as[x->node] + x->local_rank;
    }
    if (algorithm_has(p->algorithm, ALGORITHM_GROUPED)) {
        wanted = (struct job_groups){ .n = p->n_groups, .of = of, .n_of = (size_t)p->n_workers };
        return groups_list(w, p->n_workers, &wanted, NULL, most, ret, err);
    }
    return groups_list(w, p->n_workers, &wanted, history->began_as ? began_as : NULL, most, ret,
                       err);
}

/* Append to the plan's reason how its groups differ from sync.groups after workers were lost. */
static void say_groups(const struct job *job, struct plan *p)
{
    const struct job_groups *g = &job->sync.groups;

    if (!algorithm_has(p->algorithm, ALGORITHM_GROUPED))
        return;
    if (g->of && (size_t)p->n_workers < g->n_of)
        text_append(p->reason, sizeof p->reason,
                    "; sync.groups without the %zu lost workers: %d groups of %lld",
                    g->n_of - (size_t)p->n_workers, p->n_groups, (long long)g->n);
    else if (!g->of && g->n > p->n_groups)
        text_append(p->reason, sizeof p->reason,
                    "; %d groups, because too few workers are left for the %lld of sync.groups",
                    p->n_groups, (long long)g->n);
}

/* Write the choices with at most this many groups to list, or the first one if all have more.
 * Return their number.
 */
static int fill_groups(const struct groups_choices *groups, int64_t most,
                       struct objective_groups list[GROUPS_CHOICES])
{
    int n = 0;

    for (int i = 0; i < groups->n; i++)
        if (groups->groups[i] <= most)
            list[n++] = (struct objective_groups){ groups_choice(groups, i), groups->groups[i] };
    if (n == 0)
        list[n++] = (struct objective_groups){ groups_choice(groups, 0), groups->groups[0] };
    return n;
}

/* Write the groups that rounds may have into f->rounds; f->in must have its groups. If the job sets
 * the groups, or nothing is measured, there is one choice.
 */
static void fill_rounds(struct choice *f, const struct groups_choices *groups)
{
    bool several = f->in.n_groups > 1;

    if (!several || groups->n_rounds <= f->most_writers)
        f->rounds[f->n_rounds++] = (struct objective_groups){ groups->rounds, groups->n_rounds };
    for (int i = 0; several && i < f->in.n_groups; i++)
        f->rounds[f->n_rounds++] = f->in.groups[i];
}

/* Check whether model and network are measured. Otherwise groups are not compared, since those that
 * stretch over several nodes seem to cost nothing.
 */
static bool is_measured(const struct modes_setup *s)
{
    return s->model_bytes > 0 && (s->n_nodes == 1 || s->bytes_per_s > 0);
}

/* Return the largest number of models for which the plan's global batch has samples. */
static int64_t most_writers(const struct job *job, const struct plan *p)
{
    return p->global_batch > 0 ? p->global_batch / job->batch.grain : INT64_MAX;
}

int mode_choose(const struct job *job, const struct planner_history *history, struct plan *p,
                struct eddis_error *err)
{
    cleanup_free struct modes_worker *w = calloc((size_t)p->n_workers, sizeof *w);
    cleanup_groups struct groups_choices groups = { 0 };
    struct objective_groups list[GROUPS_CHOICES];
    const struct sync_options asked = asked_options(job);
    const struct efficiencies measured = { history->efficiency, history->n_efficiencies,
                                           p->global_batch };
    struct choice f = { .in = { .groups = list, .wanted = &asked, .measured = &measured },
                        .kept = kept_options(&asked, history) };
    const struct candidate *taken;
    const char *lacks;
    enum why why;
    int rc;

    if (!algorithm_asked(job->sync.mode, job->sync.algorithm))
        return eddis_fail(err, -EINVAL, "no algorithm '%s' of mode '%s' in this version",
                          job->sync.algorithm, job->sync.mode);
    if (!w)
        return eddis_fail(err, -ENOMEM, "no memory to choose a mode");
    f.most_writers = most_writers(job, p);
    if ((rc = list_groups(job, history, p, f.most_writers, &groups, err)) < 0)
        return rc;
    f.in.n_groups = fill_groups(&groups, f.most_writers, list);
    fill_setup(p, history, w, &f.in.setup);
    if (!is_measured(&f.in.setup))
        f.in.n_groups = 1;
    fill_rounds(&f, &groups);
    p->model_bytes = history->model_bytes;
    p->epoch_steps = f.in.setup.epoch_steps;
    program_copy(&p->program, &history->program);
    if ((rc = predict_all(&f, wanted_algorithm(job, history), err)) < 0)
        return rc;
    predict_equal(&f, w, p);
    lacks = what_lacks(&f, history, p);
    taken = choose(job, &f, history, lacks, p, &why);
    take(taken, p);
    list_candidates(&f, taken, why, lacks, p);
    say_wire(job, taken, p);
    say_late(p);
    say_groups(job, p);
    return 0;
}
