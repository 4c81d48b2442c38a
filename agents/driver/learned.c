/* SPDX-License-Identifier: Apache-2.0 */
/* What earlier runs have told of the program and its network, and what this one tells. */
#include "driver_impl.h"

#include "job_cache.h"

#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/model/choice_json.h"
#include "lib/model/network.h"

#include <stdlib.h>
#include <string.h>

/* "/home/ann/mnist\npython3\ntrain.py"; NULL without memory. */
static char *key_of(const struct job *job)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, job->workdir);
    for (char **word = job->command; *word; word++)
        strbuf_addf(&b, "\n%s", *word);
    return strbuf_steal(&b);
}

/* Returns 0 when nothing is known, or it is older than profiles may be. */
static int64_t kept_bytes(const struct job *job)
{
    cleanup_free char *key = key_of(job), *text = NULL;
    cleanup_json json_t *o = NULL;
    int64_t bytes = 0;

    if (!key || job->profile.cache_ns == 0 ||
        job_cache_load("model", key, job->profile.cache_ns, &text, NULL) < 0 ||
        json_parse(text, strlen(text), "the model's size", &o, NULL) < 0)
        return 0;
    (void)json_want_int(o, "bytes", 0, INT64_MAX, &bytes, NULL);
    return bytes;
}

void driver_known(struct driver *d, struct planner_known *ret)
{
    struct network *n = NULL;

    *ret = (struct planner_known){ 0 };
    if (!d->model_bytes)
        d->model_bytes = kept_bytes(d->run.o->job);
    ret->model_bytes = d->model_bytes;
    if (d->run.state.generation > 1 && d->run.status.algorithm[0])
        ret->algorithm = d->run.status.algorithm;
    if (d->measured &&
        network_parse(d->measured, strlen(d->measured), "the network", &n, NULL) == 0)
        (void)network_wire(n, &ret->latency_s, &ret->bytes_per_s); /* else unknown */
    network_free(n);
}

void driver_hear_model(struct driver *d, int64_t bytes)
{
    cleanup_free char *key = NULL;
    struct eddis_error err = { 0 };
    char text[48];

    if (bytes == 0 || bytes == d->model_bytes)
        return;
    d->model_bytes = bytes;
    (void)snprintf(text, sizeof text, "{\"bytes\": %lld}", (long long)bytes);
    key = key_of(d->run.o->job);
    if (key && job_cache_store("model", key, text, &err) < 0)
        job_run_say(&d->run, JOB_EVENT_NOTE, -1, -1, err.text);
}

/* It goes into the plan in force, which --plan then replays. */
void driver_hear_choice(struct driver *d, const struct event *e)
{
    struct eddis_error err = { 0 };
    struct comm_choice *c;

    if (e->generation != d->run.state.generation || e->generation == 0 || !d->plan ||
        d->choice_given)
        return;
    c = calloc(1, sizeof *c);
    if (!c || choice_parse(e->text, strlen(e->text), c, &err) < 0) {
        free(c);
        job_run_say(&d->run, JOB_EVENT_NOTE, -1, -1, err.text);
        return;
    }
    free(d->plan->choice);
    d->plan->choice = c;
    journal_plan(&d->run.journal, d->plan);
    (void)snprintf(d->run.status.communication, sizeof d->run.status.communication, "%s",
                   c->reason);
    job_run_say(&d->run, JOB_EVENT_COMMUNICATION, -1, -1, c->reason);
}
