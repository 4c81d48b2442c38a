/* SPDX-License-Identifier: Apache-2.0 */
/* plans.c - what --dry-run prints of a job on nodes that were profiled long ago
 *
 *     plans JOB.yaml NODES.json [MODEL_BYTES LATENCY_S BYTES_PER_S]
 *
 * Plans as the driver does, without agents: the text for people, a line "----", and the document of
 * --dry-run --json.  A job that cannot be planned gives its sentence and exit code 2.
 */
#include "cmd/run/view/dry_run.h"
#include "cmd/run/view/plan_print.h"

#include "lib/base/cleanup.h"
#include "lib/base/json.h"
#include "lib/job/job_read.h"
#include "scheduler/planner.h"

#include <stdlib.h>
#include <string.h>

static const int64_t NOW_S = 1790000000; /* the nodes' profiles are a little older */

static int read_nodes(const char *path, const struct job *job, struct node_profile **ret,
                      struct eddis_error *err)
{
    cleanup_json json_t *document = json_load_file(path, 0, NULL);
    json_t *list = json_object_get(document, "nodes"), *one;
    size_t n = json_array_size(list), i;
    cleanup_free struct node_profile *nodes = calloc(n + 1, sizeof *nodes);
    int rc = nodes ? 0 : eddis_fail(err, -ENOMEM, "no memory for the nodes");

    json_array_foreach(list, i, one)
    {
        cleanup_free char *text = json_text(one, false);

        if (rc == 0)
            rc = profile_parse(text, strlen(text), path, &nodes[i], err);
        if (rc == 0 && i < job->n_hosts)
            rc = planner_host(&job->host[i], &nodes[i], err);
    }
    if (rc < 0)
        return rc;
    *ret = cleanup_keep(nodes);
    return (int)n;
}

static void print(const struct job *job, const struct node_profile *nodes, int n,
                  const struct plan *p)
{
    struct strbuf b = { 0 };
    const struct plan_print o = { .out = &b, .home = "/home/ann", .now_s = NOW_S };
    cleanup_free char *text = NULL;

    plan_print_job(&o, job->name, NULL, NULL);
    plan_print_nodes(&o, nodes, n);
    plan_print_profiles(&o, nodes, n);
    plan_print_plan(&o, p, NULL);
    strbuf_add(&b, "\n");
    dry_run_print(job, true, &b);
    fputs(strbuf_text(&b), stdout);
    strbuf_fini(&b);
    if (dry_run_json(job, nodes, n, p, &text, NULL) == 0)
        printf("----\n%s", text);
}

int main(int argc, char **argv)
{
    struct eddis_error err = { 0 };
    struct planner_history known = { 0 };
    cleanup_free struct node_profile *nodes = NULL;
    struct job *job = NULL;
    struct plan *plan = NULL;
    int n, rc;

    if (argc < 3)
        return 64;
    if (argc > 5) {
        known.model_bytes = atoll(argv[3]);
        known.latency_s = strtod(argv[4], NULL);
        known.bytes_per_s = strtod(argv[5], NULL);
    }
    rc = job_read(argv[1], &job, &err);
    n = rc < 0 ? rc : read_nodes(argv[2], job, &nodes, &err);
    if (n >= 0)
        rc = planner_plan(job, nodes, n, &known, &plan, &err);
    if (plan)
        print(job, nodes, n, plan);
    else
        printf("%s\n", err.text);
    plan_free(plan);
    job_free(job);
    return n < 0 || rc < 0 ? 2 : 0;
}
