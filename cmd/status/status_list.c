/* SPDX-License-Identifier: Apache-2.0 */
/* status_list.c - lists the jobs of a user, as a table and as JSON */
#include "status_list.h"

#include "agents/job/status_fetch.h"
#include "cmd/shared/table.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct table_column columns[] = {
    { "JOBID", false }, { "NAME", false }, { "STATE", false }, { "TIME", true }, { "NODES", true },
};

/* Borrow the word for the job's state in the list: for an ended job its reason, since "ok" says
 * more than "ended".
 */
static const char *state_of(const struct job_status *s)
{
    return s->state == JOB_ENDED && s->reason[0] ? s->reason : job_state_name(s->state);
}

/* Return how many seconds the job took, or has taken so far; NAN: unknown. */
static double time_of(const struct job_status *s)
{
    if (isfinite(s->wall_s) || s->state == JOB_LOST)
        return s->wall_s;
    return isfinite(s->start_s) ? (double)clock_wall_ns() / (double)CLOCK_S - s->start_s : NAN;
}

/* Append the row of the job with this id to the table. */
static void add_row(struct table *t, const char *id, const struct job_status *s)
{
    char time[32];

    table_add(t, "%s", id);
    table_add(t, "%s", s->name);
    table_add(t, "%s", state_of(s));
    table_add(t, "%s",
              isfinite(time_of(s)) ? job_status_duration(time_of(s), time, sizeof time) : "-");
    if (s->n_nodes)
        table_add(t, "%d", s->n_nodes);
    else
        table_add(t, "-");
}

/* Append the JSON object of the job with this id to the list. Return 0 or -ENOMEM. */
static int add_item(json_t *list, const char *id, const struct job_status *s)
{
    double time_s = time_of(s);
    json_t *item = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:i}", "job", id, "name", s->name,
                             "state", job_state_name(s->state), "reason", s->reason, "wall_s",
                             isfinite(time_s) ? json_real(time_s) : json_null(), "exit_code",
                             s->exit_code < 0 ? json_null() : json_integer(s->exit_code), "n_nodes",
                             s->n_nodes);

    return item && json_array_append_new(list, item) == 0 ? 0 : -ENOMEM;
}

/* Read a job's status from its files into *s. If they are damaged, the job is listed as ended, with
 * the reason "unreadable".
 */
static void glance(const struct job_folder *f, struct job_status *s)
{
    if (status_glance(f, s, NULL) == 0)
        return;
    job_status_init(s);
    s->state = JOB_ENDED;
    strcpy(s->reason, "unreadable");
    (void)job_folder_parse_id(f->id, s->name, sizeof s->name, NULL);
}

/* Print the JSON document that contains the list of jobs on standard output. Return 0 or -ENOMEM.
 */
static int print_json(const json_t *list, struct eddis_error *err)
{
    cleanup_json json_t *o =
        json_pack("{s:i, s:O}", "schema_version", STATUS_SCHEMA_VERSION, "jobs", list);
    cleanup_free char *text = o ? json_text(o, true) : NULL;

    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory to list jobs");
    puts(text);
    return 0;
}

int status_list(bool json, struct eddis_error *err)
{
    cleanup_table struct table t = { .column = columns,
                                     .n_columns = sizeof columns / sizeof *columns };
    cleanup_free struct job_folder *folder = NULL;
    cleanup_json json_t *list = json_array();
    cleanup_strbuf struct strbuf b = { 0 };
    int n = job_folder_list(&folder, err), rc = n < 0 ? n : 0;

    for (int i = 0; i < n && rc == 0; i++) {
        struct job_status s;

        if (job_folder_is_of_worker(&folder[i]))
            continue;
        glance(&folder[i], &s);
        if (!json)
            add_row(&t, folder[i].id, &s);
        else if (!list || add_item(list, folder[i].id, &s) < 0)
            rc = eddis_fail(err, -ENOMEM, "no memory to list jobs");
        job_status_fini(&s);
    }
    if (rc == 0 && json)
        rc = print_json(list, err);
    else if (rc == 0)
        table_print(&t, 0, &b);
    fputs(strbuf_text(&b), stdout);
    return rc;
}
