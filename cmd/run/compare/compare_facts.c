/* SPDX-License-Identifier: Apache-2.0 */
/* compare_facts.c - what the folder of a run's job says beside its status */
#include "compare_facts.h"

#include "agents/driver/history/past.h"
#include "cmd/run/request/run_find.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/file_thread.h"
#include "lib/base/json.h"
#include "lib/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Bytes of a file of events, or of messages, that are read. */
enum { MOST_BYTES = 16 << 20 };

/* Return a time such as "2026-11-21T14:07:12.345Z" in seconds since 1970; NAN: it is not one. */
static double parse_time(const char *text)
{
    struct tm t = { 0 };
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &t);
    int ms = 0;

    if (!rest || (*rest == '.' && sscanf(rest, ".%3d", &ms) != 1))
        return NAN;
    return (double)timegm(&t) + ms / 1000.0;
}

/* Return the event in one line of events.jsonl as a new reference, if it has this type; otherwise
 * NULL.
 */
static json_t *event_in(const char *line, size_t n, const char *type)
{
    cleanup_json json_t *j = NULL;
    const char *is;

    if (!memmem(line, n, type, strlen(type)) || json_parse(line, n, "event", &j, NULL) < 0 ||
        json_want_string(j, "type", &is, NULL) < 0 || strcmp(is, type) != 0)
        return NULL;
    return cleanup_keep(j);
}

/* Return when the first or the last event of a type was recorded in the job's events.jsonl, in
 * seconds since 1970; NAN: there is none.
 */
static double event_s(const char *dir, const char *type, bool last)
{
    cleanup_free char *path = file_join(dir, "events.jsonl"), *text = NULL;
    double found = NAN;

    if (!path || file_read(path, MOST_BYTES, &text, NULL, NULL) < 0)
        return NAN;
    for (const char *line = text; *line && (last || isnan(found));) {
        size_t n = strcspn(line, "\n");
        cleanup_json json_t *event = event_in(line, n, type);
        const char *time;

        if (event && json_want_string(event, "time", &time, NULL) == 0)
            found = parse_time(time);
        line += n + (line[n] != '\0');
    }
    return found;
}

double compare_event_s(const char *dir, const char *type)
{
    return event_s(dir, type, false);
}

double compare_last_event_s(const char *dir, const char *type)
{
    return event_s(dir, type, true);
}

void compare_facts_plan(const char *dir, struct compare_run *r)
{
    cleanup_free char *job = file_join(dir, "%s", ""), *path = NULL;
    struct plan *p = NULL;
    const char *wire;

    if (!job || run_find_plan(job, &path, NULL) < 0 || plan_read(path, &p, NULL) < 0)
        return;
    wire = sync_wire_name((size_t)p->options.wire);
    (void)snprintf(r->algorithm, sizeof r->algorithm, "%s", p->algorithm);
    (void)snprintf(r->wire, sizeof r->wire, "%s", wire ? wire : "");
    r->writers = plan_models(p);
    r->period = p->options.period;
    r->global_batch = p->global_batch;
    r->model_bytes = p->model_bytes;
    plan_free(p);
}

int64_t compare_facts_model(const struct job *job)
{
    struct file_thread *reader = NULL;
    int64_t bytes;

    if (file_thread_start(&reader, NULL) < 0)
        return 0;
    bytes = past_model(reader, job).bytes;
    file_thread_stop(reader);
    return bytes;
}

/* Check whether all runs of the i-th mode that have trained had the algorithm, models, period and
 * batch of the mode's row.
 */
static bool is_alike(const struct compare *c, int i)
{
    const struct compare_row *row = &c->row[i];

    for (int k = i; k < c->n_runs; k += c->n_rows) {
        const struct compare_run *r = &c->run[k];

        if (r->curve.n && (r->writers != row->writers || r->period != row->period ||
                           r->global_batch != row->global_batch ||
                           algorithm_find(r->algorithm) != algorithm_find(row->algorithm)))
            return false;
    }
    return true;
}

/* Add the efficiency of the i-th mode to the list. Return 1; 0: it has none; or -ENOMEM. */
static int add_efficiency(const struct compare *c, int i, struct past_efficiencies *l)
{
    const struct compare_row *r = &c->row[i];
    struct efficiency_row row = {
        .writers = r->writers, .period = r->period, .batch = r->global_batch, .value = r->efficiency
    };

    if (!(r->efficiency > 0) || r->writers < 2 || r->period < 1 || r->global_batch < 1 ||
        r->model_bytes < 1 || !is_alike(c, i))
        return 0;
    (void)snprintf(row.algorithm, sizeof row.algorithm, "%s", r->algorithm);
    return past_efficiencies_set(l, &row) < 0 ? -ENOMEM : 1;
}

int compare_facts_keep(const struct job *job, const struct compare *c, struct eddis_error *err)
{
    struct file_thread *reader = NULL;
    struct past_efficiencies l = { 0 };
    int64_t model_bytes = 0;
    int rc = file_thread_start(&reader, err), n = 0, loaded;

    if (rc < 0)
        return rc;
    for (int i = 0; i < c->n_rows; i++)
        if (c->row[i].model_bytes > model_bytes)
            model_bytes = c->row[i].model_bytes;
    loaded = past_efficiencies_load(reader, job, model_bytes, &l);
    for (int i = 0; i < c->n_rows && rc >= 0; i++) {
        rc = add_efficiency(c, i, &l);
        n += rc > 0;
    }
    if (rc < 0)
        rc = eddis_fail(err, rc, "no memory for efficiencies");
    else if (n && (loaded == 0 || loaded == -ENOENT))
        rc = past_efficiencies_keep(reader, job, model_bytes, &l, err);
    else
        rc = n && loaded == -ETIMEDOUT
                 ? eddis_fail(err, loaded, "the cache does not answer: efficiencies are not kept")
                 : 0;
    past_efficiencies_fini(&l);
    file_thread_stop(reader);
    return rc;
}

void compare_facts_why(const char *log, char *ret, size_t size)
{
    static const char ours[] = "eddis-run: ";
    cleanup_free char *text = NULL;

    ret[0] = '\0';
    if (file_read(log, MOST_BYTES, &text, NULL, NULL) < 0)
        return;
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
        if (strncmp(line, ours, sizeof ours - 1) == 0)
            (void)snprintf(ret, size, "%s", line + sizeof ours - 1);
    text_strip_control(ret);
}
