/* SPDX-License-Identifier: Apache-2.0 */
/* run_head.c - puts the head of a job and its plans together */
#include "cmd/run_head.h"

#include "cmd/dry_run.h"
#include "cmd/run_resume.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nobody asked for none: a long job must not find out at its end. */
static void print_no_checkpoints(const struct job *job, FILE *out)
{
    if (job->n_hosts > 1 && job_period_is_never(&job->checkpoint.every) &&
        job_origin(job, "checkpoint.every").kind == JOB_DEFAULT)
        fputs("  no checkpoints, until checkpoint.dir names a folder that all nodes share\n", out);
}

static void print_resume(const struct job *job, FILE *out)
{
    char text[PATH_MAX + 512];

    if (run_resume_text(job, text, sizeof text))
        fprintf(out, "  goes on from %s\n", text);
}

/* Only a program's workers can tell whether it uses eddis, but for ours. */
static const char *plan_remark(const struct run_request *q, const struct plan *p)
{
    const char *program = q->job->command ? q->job->command[0] : "";
    const char *name = strrchr(program, '/');

    if (p->generation <= 1 && q->plan_path)
        return "replayed";
    return strcmp(name ? name + 1 : program, "eddis-train") == 0 ? NULL
                                                                 : "for a program that uses eddis";
}

static void print_nodes(const struct plan_print *o, const struct run_request *q,
                        const struct job_folder *folder, const struct node_profile *nodes, int n)
{
    plan_print_job(o, q->job->name, folder ? folder->id : NULL, folder ? folder->path : NULL);
    plan_print_nodes(o, nodes, n);
    plan_print_profiles(o, nodes, n);
}

char *run_head_text(struct run_head *h, const struct run_request *q,
                    const struct job_folder *folder, const struct plan_print *how,
                    const struct plan *p, const struct node_profile *nodes, int n)
{
    struct plan_print o = *how;
    char *text = NULL;
    size_t size = 0;

    o.out = open_memstream(&text, &size);
    if (!o.out)
        return NULL;
    if (!h->printed)
        print_nodes(&o, q, folder, nodes, n);
    if (q->verbose)
        strbuf_fini(&h->plan);
    plan_print_again(&o, p, plan_remark(q, p), &h->plan);
    if (!h->printed) {
        print_resume(q->job, o.out);
        print_no_checkpoints(q->job, o.out);
    }
    h->printed = true;
    if (q->dry_run || q->verbose) {
        putc('\n', o.out);
        dry_run_print(q->job, q->verbose, o.out);
        dry_run_env(q->env.at, o.out);
    }
    putc('\n', o.out);
    if (fclose(o.out) == 0)
        return text;
    free(text);
    return NULL;
}

void run_head_fini(struct run_head *h)
{
    strbuf_fini(&h->plan);
}
