/* SPDX-License-Identifier: Apache-2.0 */
/* history.c - collect the history for a plan, and store it for the next job */
#include "history.h"

#include <inttypes.h>

/* Check whether limits of memory, or lines of cards, are known. */
static bool has_memory(const struct history *k)
{
    return k->memory.list.n > 0 || k->memory.lines.n > 0;
}

/* Read into *k what the cache holds of earlier jobs of the program.  The model is read at each call
 * until there is one, the rest only at the first call.
 */
static void load(struct history *k)
{
    const struct job *job = k->run->o->job;

    if (!k->model.bytes)
        k->model = past_model(k->run->reader, job);
    if (!k->loaded) {
        past_times_load(k->run->reader, job, k->model.bytes, &k->times);
        past_memory_load(k->run->reader, job, k->model.bytes, &k->memory);
        (void)past_efficiencies_load(k->run->reader, job, k->model.bytes, &k->efficiencies);
        k->memory_kept = has_memory(k);
    }
    k->loaded = true;
}

/* Return a part of a network's bandwidth or latency; all of it if the part is not set. */
static double whole(double part)
{
    return part > 0 ? part : 1;
}

void history_fill(struct history *k, struct planner_history *ret)
{
    load(k);
    past_fill(&k->model, &k->times, &k->memory, &k->efficiencies, ret);
    if (k->run->state.generation > 1 && k->algorithm[0]) {
        ret->algorithm = k->algorithm;
        ret->wire = k->wire;
    }
    past_wire(k->network->measured, ret);
    if (k->run->wire.bytes_per_s > 0)
        ret->bytes_per_s = k->run->wire.bytes_per_s;
    if (k->run->wire.latency_s > 0)
        ret->latency_s = k->run->wire.latency_s;
    ret->bytes_per_s *= whole(k->run->part.bytes_per_s);
    ret->latency_s *= whole(k->run->part.latency_s);
}

void history_correct(struct job_run *run, struct run_wire wire)
{
    if (wire.bytes_per_s > 0)
        run->wire.bytes_per_s = wire.bytes_per_s / whole(run->part.bytes_per_s);
    if (wire.latency_s > 0)
        run->wire.latency_s = wire.latency_s / whole(run->part.latency_s);
}

/* Forget the workers' times and memory limits of earlier jobs, and report that: they were measured
 * with a model of another size.  Do nothing after the first generation, or if there are none.
 */
static void drop(struct history *k, int64_t model_bytes)
{
    if ((k->times.list.n || has_memory(k) || k->efficiencies.list.n) && k->model.bytes &&
        k->run->state.generation == 1) {
        job_run_sayf(k->run, JOB_EVENT_SAY, -1, -1,
                     "the model has %" PRId64 " bytes, the previous job's model had %" PRId64
                     "; what earlier jobs measured of its workers is not used",
                     model_bytes, k->model.bytes);
        past_times_fini(&k->times);
        past_memory_fini(&k->memory);
        past_efficiencies_fini(&k->efficiencies);
    }
}

/* Store the program's model for the next job. */
static void keep_model(const struct history *k)
{
    struct eddis_error err = { 0 };

    if (past_model_keep(k->run->reader, k->run->o->job, &k->model, &err) < 0)
        job_run_say(k->run, JOB_EVENT_NOTE, -1, -1, err.text);
}

/* Check whether two programs are equal in everything that the planner uses. */
static bool is_same(const struct program *a, const struct program *b)
{
    return program_is_same_size(a, b) && a->min_count == b->min_count;
}

bool history_model(struct history *k, int64_t bytes, const struct program *p)
{
    enum precision known = k->model.program.precision;
    bool news = p->precision != PRECISION_AUTO && !k->precision_reported;

    if (bytes == 0)
        return false;
    k->precision_reported |= news;
    if (news && bytes == k->model.bytes)
        known = p->precision;
    if (bytes == k->model.bytes && is_same(p, &k->model.program) &&
        known == k->model.program.precision)
        return false;
    if (bytes != k->model.bytes) {
        drop(k, bytes);
        k->model = (struct past_model){ .bytes = bytes };
        known = p->precision;
    }
    k->model.program = *p;
    k->model.program.precision = known;
    keep_model(k);
    return true;
}

void history_gradients(struct history *k, int64_t n)
{
    if (n == 0 || n == k->model.n_gradients)
        return;
    k->model.n_gradients = n;
    keep_model(k);
}

bool history_samples(struct history *k, int64_t n, int64_t in_epoch)
{
    if (n == 0 || !k->model.bytes ||
        (n == k->model.samples && in_epoch == k->model.samples_in_epoch))
        return false;
    k->model.samples = n;
    k->model.samples_in_epoch = in_epoch;
    keep_model(k);
    return true;
}

void history_keep_times(struct history *k)
{
    struct eddis_error err = { 0 };

    if (k->times.list.n &&
        past_times_keep(k->run->reader, k->run->o->job, k->model.bytes, &k->times, &err) < 0)
        job_run_say(k->run, JOB_EVENT_NOTE, -1, -1, err.text);
}

/* Store the workers' memory limits for the next job.  An emptied list is stored too, so that a
 * limit that no longer applies disappears from the cache.
 */
void history_keep_memory(struct history *k)
{
    struct eddis_error err = { 0 };

    if (k->model.bytes && (has_memory(k) || k->memory_kept) &&
        past_memory_keep(k->run->reader, k->run->o->job, k->model.bytes, &k->memory, &err) < 0)
        job_run_say(k->run, JOB_EVENT_NOTE, -1, -1, err.text);
    k->memory_kept = has_memory(k);
}

void history_fini(struct history *k)
{
    past_times_fini(&k->times);
    past_memory_fini(&k->memory);
    past_efficiencies_fini(&k->efficiencies);
}
