/* SPDX-License-Identifier: Apache-2.0 */
/* run_requeue.c - asks scontrol for the job's state and requeues the job */
#include "run_requeue.h"

#include "cmd/slurm/slurm_program.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/slurm/slurm_job.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

/* Check in the output of "scontrol show job" whether Slurm has decided to preempt the job, which it
 * has signalled to save.
 */
static bool is_preempted(const char *said)
{
    const char *at = strstr(said, " PreemptTime=");

    return at && strncmp(strchr(at, '=') + 1, "None", 4) != 0;
}

/* Check whether the job is to be requeued. by_term: SIGTERM has stopped it. True if its time limit
 * has ended it; or if Slurm still lets it run, and it was stopped by another signal (a warning of
 * the time limit, as by --signal) or is preempted. False if it was cancelled, or got SIGTERM while
 * Slurm lets it run.
 */
static bool is_to_go_on(const struct slurm_job *j, const char *said, bool by_term)
{
    if (strcmp(j->state, "RUNNING") == 0)
        return !by_term || is_preempted(said);
    return strcmp(j->state, "TIMEOUT") == 0 || strcmp(j->reason, "TimeLimit") == 0;
}

/* Print on standard error why eddis-run does not requeue the job: it got SIGTERM but Slurm lets it
 * run, or Slurm itself ends it.
 */
static void say_left(const struct slurm_batch *b, const struct slurm_job *j)
{
    if (strcmp(j->state, "RUNNING") == 0)
        fprintf(stderr,
                "eddis-run: job %s received SIGTERM, but Slurm is not ending it, so it is not "
                "requeued; write --resume in another job to continue from its checkpoint\n",
                b->job);
    else
        fprintf(stderr, "eddis-run: Slurm itself ends job %s, so eddis-run does not requeue it\n",
                b->job);
}

/* Print on standard error that Slurm does not requeue the job, with the first line of `why`, its
 * reason. Control characters in `why` are replaced.
 */
static void say_stays(const struct slurm_batch *b, char *why)
{
    text_make_plain(why);
    fprintf(stderr,
            "eddis-run: Slurm does not requeue job %s: %.*s; write --resume in another job to "
            "continue from its checkpoint\n",
            b->job, (int)strcspn(why, "\n"), why);
}

/* Print on standard error that the job is not requeued because this start has saved no checkpoint.
 */
static void say_no_progress(const struct slurm_batch *b)
{
    char than[48] = "";

    if (b->newest >= 0)
        (void)snprintf(than, sizeof than, " newer than step %" PRId64, b->newest);
    fprintf(stderr,
            "eddis-run: this start of Slurm's job %s saved no checkpoint%s, so it is not requeued, "
            "since it might restart for ever; give it more time (slurm.time), or run scontrol "
            "requeue %s\n",
            b->job, than, b->job);
}

/* Ask Slurm for the job's state. Return true if the job is to be requeued; otherwise print why not
 * on standard error, but with quiet only if Slurm has not answered or the job has saved nothing
 * new. by_term: SIGTERM has stopped the job; advanced: this start has saved a checkpoint. Block.
 */
static bool look(const struct slurm_batch *b, bool by_term, bool advanced, bool quiet)
{
    const char *const show[] = { "scontrol", "-o", "show", "job", b->job, NULL };
    struct eddis_error err = { 0 };
    cleanup_free char *said = NULL;
    struct slurm_job j;
    int code = slurm_program_run(show, "", &said, &err);

    if (code < 0) {
        say_stays(b, err.text);
    } else if (code > 0 || !slurm_job_parse(said, &j)) {
        say_stays(b, said);
    } else if (!is_to_go_on(&j, said, by_term)) {
        if (!quiet)
            say_left(b, &j);
    } else if (!advanced && !is_preempted(said)) {
        say_no_progress(b);
    } else {
        return true;
    }
    return false;
}

enum run_requeue run_requeue_due(const struct job_status *s, int code)
{
    static const char *const term[] = { "stopped by SIGTERM",
                                        "stopped by Slurm's time limit (SIGTERM" };

    if (code != EX_TEMPFAIL || strcmp(s->reason, "preempted") != 0)
        return RUN_REQUEUE_NOT;
    for (size_t i = 0; i < sizeof term / sizeof *term; i++)
        if (strncmp(s->message, term[i], strlen(term[i])) == 0)
            return RUN_REQUEUE_BY_TERM;
    return RUN_REQUEUE_DUE;
}

void run_requeue(const struct slurm_batch *b, enum run_requeue due, bool advanced, bool quiet)
{
    const char *const requeue[] = { "scontrol", "requeue", b->job, NULL };
    struct eddis_error err = { 0 };
    cleanup_free char *said = NULL;
    int code;

    /* Signals that come with the time limit, or from the requeue itself, must not end us. */
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    if (!look(b, due == RUN_REQUEUE_BY_TERM, advanced, quiet))
        return;
    code = slurm_program_run(requeue, "", &said, &err);
    if (code != 0)
        say_stays(b, code < 0 ? err.text : said);
    else if (!quiet)
        fprintf(
            stderr,
            "eddis-run: job %s is back in Slurm's queue, and will continue from its checkpoint\n",
            b->job);
}
