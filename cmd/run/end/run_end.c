/* SPDX-License-Identifier: Apache-2.0 */
/* run_end.c - ends jobs and cleans up after them: on this machine, in Slurm's queue, on other nodes
 */
#include "run_end.h"

#include "agents/job/status_json.h"
#include "cmd/run/request/run_find.h"
#include "cmd/shared/options.h"
#include "cmd/slurm/job_location.h"
#include "cmd/slurm/slurm_lookup.h"
#include "cmd/slurm/slurm_program.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/strbuf.h"
#include "run_cleanup.h"
#include "run_stop.h"
#include "run_user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request to end a job or to clean up. */
struct ask {
    const char *word; /* the job's id, folder or Slurm number, as the user wrote it */
    bool json, quiet;
};

/* Print the error on standard error and return `code`, the exit code. */
static int fail(const struct eddis_error *err, int code)
{
    options_complain("eddis-run", err, stderr);
    return code;
}

/* Return the deadline for questions to Slurm that start now (monotonic, ns): late, since ending a
 * job is worth waiting for a busy controller.
 */
static int64_t after_patience(void)
{
    return clock_now_ns() + SLURM_PROGRAM_NS;
}

/* Print why the job was not found and return the exit code: EXIT_FAULT if rc says that Slurm has
 * not answered, EXIT_USAGE if there is no such job.
 */
static int no_place(int rc, const struct eddis_error *err)
{
    return fail(err, rc == -EIO || rc == -ETIMEDOUT ? EXIT_FAULT : EXIT_USAGE);
}

/* ---- jobs that are on another node or still queued ---- */

/* Find the folder of the job that `word` names, and store it in *ret; errors name --stop. Return 0
 * or a negative error. A callback of job_location_find.
 */
static int find_stop(const char *word, struct job_folder *ret, struct eddis_error *err)
{
    return run_find_job("--stop", word, ret, err);
}

/* Find the folder of the job that `word` names, and store it in *ret; errors name --cleanup. Return
 * 0 or a negative error. A callback of job_location_find.
 */
static int find_cleanup(const char *word, struct job_folder *ret, struct eddis_error *err)
{
    return run_find_job("--cleanup", word, ret, err);
}

/* Run eddis-run with this option on the job's node, and print its output when it has ended. There
 * is no time limit: only that eddis-run knows how long the job takes to end. Return its exit code;
 * -ECONNRESET: its output is incomplete and is not printed.
 */
static int go(const struct job_location *p, const char *option, const struct ask *q,
              struct eddis_error *err)
{
    const char *words[] = { "eddis-run", option, p->far, NULL, NULL, NULL };
    cleanup_strbuf struct strbuf said = { 0 };
    int n = 3, rc;

    if (q->json)
        words[n++] = "--json";
    if (q->quiet)
        words[n++] = "--quiet";
    rc = srun_proxy_run(&p->proxy, words, CLOCK_NEVER, srun_proxy_keep, &said, err);
    if (rc == 0 && (!q->quiet || q->json) && (!said.len || said.text[said.len - 1] != '\n'))
        rc = eddis_fail(err, -ECONNRESET, "the answer from node %s of Slurm's job %s was lost",
                        p->proxy.node, p->proxy.name);
    if (rc >= 0)
        fputs(strbuf_text(&said), stdout);
    return rc;
}

/* Cancel a pending job in Slurm's queue and print that it is cancelled. Block for Slurm's answers.
 * Return 1; 0: Slurm has started it instead; -EPERM: only its owner can cancel it; or another
 * negative error.
 */
static int withdraw(const struct job_location *p, const struct ask *q, struct eddis_error *err)
{
    struct slurm_job j;
    int rc = slurm_lookup_withdraw(p->number, err);

    if (rc == -EIO && *p->owner) /* Slurm has refused it */
        return eddis_fail(err, -EPERM, "%s; only that user can cancel it", p->text);
    if (rc < 0)
        return rc;
    rc = slurm_lookup_ask(p->number, after_patience(), &j, err);
    if (rc < 0 && rc != -ENOENT && rc != -EINVAL) /* -EINVAL: the array's tasks are over */
        return rc;
    if (rc == 0 && slurm_job_waits(&j))
        return eddis_fail(err, -EIO, "%s; scancel did not cancel it", p->text);
    if (rc == 0 && !slurm_job_is_over(&j))
        return 0;
    if (q->json)
        printf("{\"slurm_job\": \"%s\", \"cancelled\": true}\n", p->number);
    else if (!q->quiet)
        printf("Slurm's job %s was waiting in the queue and has been cancelled\n", p->number);
    return 1;
}

/* Wait for about a minute at most until Slurm reports that the job has ended: its end also ended
 * our step with --stop, whose output is lost. Print the job's end and return 1; or print nothing
 * and return 0, if the job's folder on this machine has the summary. Return a negative error if the
 * job has not ended or Slurm does not answer.
 */
static int stopped(const struct job_location *p, const struct ask *q, struct eddis_error *err)
{
    struct slurm_job j;
    int rc = slurm_lookup_await_end(p->proxy.name, slurm_job_has_ended,
                                    clock_now_ns() + 60 * CLOCK_S, &j, err);

    if (rc < 0 && rc != -ENOENT)
        return eddis_fail_prefix(err, rc, "job %s was asked to stop", p->far);
    if (p->has_folder)
        return 0;
    if (q->json)
        printf("{\"slurm_job\": \"%s\", \"stopped\": true, \"exit_code\": %d}\n", p->proxy.name,
               rc == 0 ? slurm_job_code(&j) : -1);
    else if (!q->quiet && rc == 0)
        printf("Slurm's job %s was stopped and has ended with code %d; its folder is on %s\n",
               p->proxy.name, slurm_job_code(&j), p->proxy.node);
    else if (!q->quiet)
        printf("Slurm's job %s was stopped\n", p->proxy.name);
    return 1;
}

/* ---- entry points ---- */

/* End a job whose folder is on this machine, wait for its end and print its summary. was_stopped: a
 * --stop on the driver's node has already ended it. Return the exit code: 0; EXIT_FAULT if the job
 * still runs, or its driver is lost so that nothing was stopped; EXIT_USAGE on other errors.
 */
static int end_job(const struct ask *q, const struct job_location *p, bool was_stopped)
{
    struct job_status status;
    struct eddis_error err = { 0 };
    cleanup_strbuf struct strbuf b = { 0 };
    const char *name = strchr(q->word, '/') ? q->word : NULL;
    int rc = run_stop(&p->folder, p->where == JOB_DEAD || was_stopped, &status, &err);

    if (rc < 0)
        return fail(&err, rc == -ETIMEDOUT ? EXIT_FAULT : EXIT_USAGE);
    if (q->json) {
        cleanup_free char *text = job_status_text(&status);

        puts(text ? text : "null");
    } else if (!q->quiet) {
        printf("job %s %s\n", status.job,
               run_stop_words(was_stopped && status.state == JOB_ENDED ? 1 : rc, &status));
        job_status_print(&status, name, &b);
        job_status_print_more(&status, name, &b);
        fputs(strbuf_text(&b), stdout);
    }
    /* a lost driver: nothing was stopped */
    rc = rc != 1 && status.state == JOB_LOST ? EXIT_FAULT : 0;
    job_status_fini(&status);
    return rc;
}

/* End a job whose driver is on another node, wait for its end and print it. Return the exit code:
 * that of eddis-run --stop there, or EXIT_FAULT if that cannot be run.
 */
static int stop_far(const struct ask *q, const struct job_location *p)
{
    struct eddis_error err = { 0 };
    int code = go(p, "--stop", q, &err);

    if (code == -ECONNRESET) {
        code = stopped(p, q, &err);
        if (code >= 0)
            return code ? EXIT_SUCCESS : end_job(q, p, true);
    }
    return code < 0 ? fail(&err, EXIT_FAULT) : code;
}

int run_end_stop(const char *word, bool json, bool quiet)
{
    const struct ask q = { .word = word, .json = json, .quiet = quiet };
    struct eddis_error err = { 0 };
    struct job_location p;
    int rc = job_location_find(word, find_stop, after_patience(), &p, &err);

    if (rc == 0 && p.where == JOB_WAITS) {
        rc = withdraw(&p, &q, &err);
        if (rc == 1)
            return EXIT_SUCCESS;
        if (rc == 0) /* the job has just started: look for its driver */
            rc = job_location_find(word, find_stop, after_patience(), &p, &err);
    }
    if (rc < 0)
        return no_place(rc, &err);
    if (p.where == JOB_WAITS)
        return eddis_fail(&err, -EAGAIN, "%s", p.text), fail(&err, EXIT_FAULT);
    return p.where == JOB_FAR ? stop_far(&q, &p) : end_job(&q, &p, false);
}

int run_end_cleanup(const char *word, bool quiet)
{
    const struct ask q = { .word = word, .quiet = quiet };
    struct eddis_error err = { 0 };
    struct job_location p;
    int left = job_location_find(word, find_cleanup, after_patience(), &p, &err);

    if (left < 0)
        return no_place(left, &err);
    if (p.where == JOB_FAR) {
        left = go(&p, "--cleanup", &q, &err);
        return left < 0 ? fail(&err, EXIT_FAULT) : left;
    }
    if (p.where == JOB_WAITS && !p.has_folder)
        return eddis_fail(&err, -ENOENT, "%s; it has not started, so there is nothing to clean up",
                          p.text),
               fail(&err, EXIT_USAGE);
    /* The list of hosts has text of its owner's: hosts, commands and the path of eddis. */
    if (run_user_become_owner(p.folder.path, &err) < 0)
        return fail(&err, EXIT_FAULT);
    left = run_cleanup(&p.folder, p.where != JOB_HERE, p.where == JOB_DEAD && p.over, quiet, &err);
    return left < 0 ? fail(&err, EXIT_USAGE) : left ? EXIT_FAULT : EXIT_SUCCESS;
}
