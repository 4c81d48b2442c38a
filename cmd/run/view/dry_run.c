/* SPDX-License-Identifier: Apache-2.0 */
/* dry_run.c - prints all values of a job and their sources, as text and as JSON */
#include "dry_run.h"

#include "cmd/shared/table.h"
#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "lib/base/json_bytes.h"
#include "lib/base/strbuf.h"
#include "lib/job/job_keys.h"
#include "lib/job/job_text.h"

#include <errno.h>
#include <string.h>

/* Limits of a key's text; longer ones, such as a long command, are cut. */
enum { VALUE_SIZE = 1 << 16, ORIGIN_SIZE = 4096 };

/* Columns of the table of keys. Values come last, since they may be long. */
static const struct table_column columns[] = { { "key", false },
                                               { "from", false },
                                               { "value", false } };

void dry_run_print(const struct job *job, bool all, struct strbuf *b)
{
    cleanup_table struct table t = { .column = columns,
                                     .n_columns = sizeof columns / sizeof *columns };
    cleanup_free char *value = malloc(VALUE_SIZE);
    const struct job_key *key;
    size_t n = job_keys(&key);
    char origin[ORIGIN_SIZE];
    int left_out = 0;

    for (size_t i = 0; i < n && value; i++) {
        if (key[i].later)
            continue;
        job_value_text(job, key[i].name, value, VALUE_SIZE);
        job_origin_text(job, key[i].name, origin, sizeof origin);
        if (!all && strcmp(origin, "default") == 0) {
            left_out++;
            continue;
        }
        table_add(&t, "%s", key[i].name);
        table_add(&t, "%s", origin);
        table_add(&t, "%s", value);
    }
    table_print(&t, 2, b);
    if (left_out)
        strbuf_addf(b, "  and %d keys with their defaults, which -v shows\n", left_out);
}

void dry_run_env(char *const *env, struct strbuf *b)
{
    for (char *const *v = env; v && *v; v++)
        strbuf_addf(b, "%s%.*s", v == env ? "  variables passed on: " : ", ", (int)strcspn(*v, "="),
                    *v);
    if (env && *env)
        strbuf_add(b, "\n");
}

/* Return a JSON object with value and origin of each key of the job; NULL without memory. */
static json_t *job_json(const struct job *job)
{
    cleanup_free char *value = malloc(VALUE_SIZE);
    cleanup_json json_t *o = json_object();
    const struct job_key *key;
    size_t n = job_keys(&key);
    char origin[ORIGIN_SIZE];

    if (!value || !o)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        json_t *v;

        if (key[i].later)
            continue;
        job_value_text(job, key[i].name, value, VALUE_SIZE);
        job_origin_text(job, key[i].name, origin, sizeof origin);
        v = json_pack("{s:o, s:o}", "value", json_sentence(value), "origin", json_sentence(origin));
        if (json_object_set_new(o, key[i].name, v) < 0)
            return NULL;
    }
    return json_incref(o);
}

/* Parse a JSON text that eddis has just written. Return NULL if text is NULL or without memory. */
static json_t *again(const char *text)
{
    json_t *j = NULL;

    return text && json_parse(text, strlen(text), "our own text", &j, NULL) == 0 ? j : NULL;
}

/* Return a JSON array of the profiles of n nodes, without when they were measured and whether they
 * were cached; NULL without memory.
 */
static json_t *profiles_json(const struct node_profile *nodes, int n)
{
    cleanup_json json_t *list = json_array();

    for (int i = 0; i < n; i++) {
        cleanup_free char *text = profile_text(&nodes[i]);
        json_t *o = again(text);

        if (o) {
            json_object_del(o, "cached");
            json_object_del(o, "measured_s");
        }
        if (json_array_append_new(list, o) < 0)
            return NULL;
    }
    return json_incref(list);
}

int dry_run_json(const struct job *job, const struct node_profile *nodes, int n_nodes,
                 const struct plan *plan, char **ret, struct eddis_error *err)
{
    cleanup_free char *plan_json = plan_text(plan), *text = NULL;
    cleanup_json json_t *o = json_pack("{s:i, s:o, s:o, s:o}", "schema_version",
                                       DRY_RUN_SCHEMA_VERSION, "job", job_json(job), "profile",
                                       profiles_json(nodes, n_nodes), "plan", again(plan_json));
    char *line = NULL;

    text = o ? json_text(o, true) : NULL;
    if (!text || asprintf(&line, "%s\n", text) < 0)
        return eddis_fail(err, -ENOMEM, "no memory to describe the job");
    *ret = line;
    return 0;
}
