/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - lines and files in the job's folder, and which of them have gaps */
#include "journal.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note_trouble(struct journal *r, const char *name, const struct eddis_error *err)
{
    size_t n = strlen(r->missing);

    if (!r->trouble.code)
        r->trouble = *err;
    if (!strstr(r->missing, name) && n + strlen(name) + 3 < sizeof r->missing)
        (void)snprintf(r->missing + n, sizeof r->missing - n, "%s%s", n ? ", " : "", name);
}

static void append(struct journal *r, const char *name, const char *line)
{
    cleanup_free char *path = file_join(r->folder->path, "%s", name);
    struct strbuf b = { 0 };
    struct eddis_error err = { 0 };

    strbuf_addf(&b, "%s\n", line);
    if (!path || b.failed)
        eddis_fail(&err, -ENOMEM, "no memory to write '%s'", name);
    else
        (void)file_append(path, b.text, b.len, 0600, &err);
    if (err.code)
        note_trouble(r, name, &err);
    strbuf_fini(&b);
}

void journal_event(struct journal *r, enum job_event type, const char *node, int rank,
                   const char *text)
{
    char time[32], *line;
    cleanup_json json_t *j = NULL;

    clock_wall_text(clock_wall_ns(), time, sizeof time);
    j = json_pack("{s:I, s:s, s:s}", "n", (json_int_t)(r->n_events + 1), "time", time, "type",
                  job_event_word(type));
    if (j && node && *node)
        json_object_set_new(j, "node", json_string(node));
    if (j && rank >= 0)
        json_object_set_new(j, "rank", json_integer(rank));
    if (j && text && *text)
        json_object_set_new(j, "text", json_string(text)); /* dropped when it is no UTF-8 */
    line = j ? json_text(j, false) : NULL;
    if (!line)
        return;
    r->n_events++;
    free(r->line[r->n_events % JOURNAL_KEPT]);
    r->line[r->n_events % JOURNAL_KEPT] = line;
    if (r->folder)
        append(r, "events.jsonl", line);
}

char *journal_events_text(const struct journal *r, int64_t after)
{
    int64_t first = r->n_events > JOURNAL_KEPT ? r->n_events - JOURNAL_KEPT + 1 : 1;
    struct strbuf b = { 0 };

    if (after + 1 > first)
        first = after + 1;
    strbuf_add(&b, "{\"events\":[");
    for (int64_t n = first; n <= r->n_events; n++)
        strbuf_addf(&b, "%s%s", n > first ? "," : "", r->line[n % JOURNAL_KEPT]);
    strbuf_addf(&b, "],\"schema_version\":%d}", STATUS_SCHEMA_VERSION);
    return strbuf_steal(&b);
}

void journal_line(struct journal *r, const char *name, const char *line)
{
    struct eddis_error err = { 0 };

    if (r->folder && line)
        append(r, name, line);
    else if (r->folder && eddis_fail(&err, -ENOMEM, "no memory to write '%s'", name) < 0)
        note_trouble(r, name, &err);
}

void journal_file(struct journal *r, const char *name, const char *text)
{
    cleanup_free char *path = r->folder ? file_join(r->folder->path, "%s", name) : NULL;
    struct eddis_error err = { 0 };

    if (!r->folder)
        return;
    if (!path || !text)
        eddis_fail(&err, -ENOMEM, "no memory to write '%s'", name);
    else
        (void)file_write_atomic(path, text, strlen(text), 0600, &err);
    if (err.code)
        note_trouble(r, name, &err);
}

void journal_plan(struct journal *r, const struct plan *p)
{
    cleanup_free char *text = plan_text(p);
    char name[64];

    (void)snprintf(name, sizeof name, "plan-%" PRId64 "-%" PRId64 ".json", p->generation,
                   p->version);
    journal_file(r, name, text);
}

void journal_metrics(struct journal *r, const struct job_status *s)
{
    cleanup_free char *text = r->folder ? job_status_text(s, true) : NULL;

    if (text)
        append(r, "metrics.jsonl", text);
}

void journal_summary(struct journal *r, const struct job_status *s)
{
    cleanup_free char *text = job_status_text(s, false), *lines = NULL;

    if (text && asprintf(&lines, "%s\n", text) < 0)
        lines = NULL;
    journal_file(r, "summary.json", lines);
}

void journal_fini(struct journal *r)
{
    for (int i = 0; i < JOURNAL_KEPT; i++)
        free(r->line[i]);
    *r = (struct journal){ 0 };
}
