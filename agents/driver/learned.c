/* SPDX-License-Identifier: Apache-2.0 */
/* learned.c - the size of a program's model, remembered, and a network's figures for the planner */
#include "learned.h"

#include "job_cache.h"

#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/model/network.h"

#include <stdio.h>
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

int64_t learned_model(struct file_thread *looks, const struct job *job)
{
    cleanup_free char *key = key_of(job), *text = NULL;
    cleanup_json json_t *o = NULL;
    int64_t bytes = 0;

    if (!key || job->profile.cache_ns == 0 ||
        job_cache_load(looks, &(struct job_cache_entry){ "model", key }, job->profile.cache_ns,
                       &text, NULL) < 0 ||
        json_parse(text, strlen(text), "the model's size", &o, NULL) < 0)
        return 0;
    (void)json_want_int(o, "bytes", 0, INT64_MAX, &bytes, NULL);
    return bytes;
}

int learned_keep_model(struct file_thread *looks, const struct job *job, int64_t bytes,
                       struct eddis_error *err)
{
    cleanup_free char *key = key_of(job);
    char text[48];

    if (!key)
        return 0; /* the next run measures it again */
    (void)snprintf(text, sizeof text, "{\"bytes\": %lld}", (long long)bytes);
    return job_cache_store(looks, &(struct job_cache_entry){ "model", key }, text, err);
}

void learned_wire(const char *measured, struct planner_known *known)
{
    struct network *n = NULL;

    if (measured && network_parse(measured, strlen(measured), "the network", &n, NULL) == 0)
        (void)network_wire(n, &known->latency_s, &known->bytes_per_s); /* else unknown */
    network_free(n);
}
