/* SPDX-License-Identifier: Apache-2.0 */
/* summary.c - the last word about a job: its summary, and what people should know of it */
#include "summary.h"

#include "agents/job/checkpoints.h"
#include "lib/base/cleanup.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Figures of --measure-equal that compare a split with itself need a word. */
static void say_only_equal(struct telling *t)
{
    static const char text[] = "the job ended before the plan took force: all its steps had the "
                               "equal split of --measure-equal";
    struct job_status *s = &t->run->status;

    if (!t->plans->equal || s->steps_done == 0 || figures_real_begun(&t->run->figures))
        return;
    if (!s->message[0])
        (void)snprintf(s->message, sizeof s->message, "%s", text);
    journal_event(&t->run->journal, JOB_EVENT_NOTE, NULL, -1, text);
}

/* A job that was stopped can go on: from where, and how. */
static void say_how_to_go_on(struct telling *t)
{
    struct job_status *s = &t->run->status;
    struct job_folder found;
    char path[PATH_MAX];
    size_t n = strlen(s->message);
    int64_t newest;

    if (strcmp(s->reason, "interrupted") != 0 && strcmp(s->reason, "preempted") != 0 &&
        strcmp(s->reason, "timeout") != 0)
        return;
    if (s->steps_done > 0)
        (void)snprintf(s->message + n, sizeof s->message - n, " at step %" PRId64, s->steps_done);
    newest =
        t->run->checkpoint_dir ? checkpoints_newest(t->run->checkpoint_dir, path, sizeof path) : -1;
    if (newest < 0 || !t->run->o->folder)
        return;
    /* The id is shorter, but finds only what lies in the usual places. */
    if (job_folder_find(t->run->o->folder->id, &found, NULL) == 0 &&
        strcmp(found.path, t->run->o->folder->path) == 0)
        (void)snprintf(path, sizeof path, "%s", found.id);
    n = strlen(s->message);
    (void)snprintf(s->message + n, sizeof s->message - n,
                   "; newest checkpoint: step %" PRId64 "; go on with --resume %s", newest, path);
}

/* Devices are emulated by libeddis, in the programs that use it: claim nothing for others. */
static void say_not_emulated(struct telling *t)
{
    static const char text[] = "the program does not use libeddis, so no device was emulated";
    struct job_status *s = &t->run->status;

    if (!s->emulated || s->exit_code != 0 || figures_any_seen(&t->run->figures))
        return;
    s->emulated = false;
    s->ideal_samples_per_s = s->predicted_samples_per_s = NAN;
    s->equal_predicted_samples_per_s = NAN;
    if (!s->message[0])
        (void)snprintf(s->message, sizeof s->message, "%s", text);
    journal_event(&t->run->journal, JOB_EVENT_NOTE, NULL, -1, text);
}

/* What the folder lacks is no failure of the job. */
static void say_gaps(struct telling *t)
{
    cleanup_free char *text = NULL;

    if (!t->run->journal.trouble.code)
        return;
    if (asprintf(&text, "%s%smissing or with gaps in '%s': %s; the job's own result stands",
                 t->told_trouble ? "" : t->run->journal.trouble.text, t->told_trouble ? "" : "; ",
                 t->run->o->folder->path, t->run->journal.missing) >= 0)
        t->run->o->view.say(t->run->o->view.ctx, text);
}

void summary_tell(struct telling *t)
{
    struct job_status *s = &t->run->status;

    if (t->run->checkpoint_dir)
        state_checkpoint_seen(&t->run->state, checkpoints_newest(t->run->checkpoint_dir, NULL, 0));
    telling_fill(t);
    s->state = JOB_ENDED; /* also of a job that could not begin */
    say_only_equal(t);
    say_how_to_go_on(t);
    say_not_emulated(t);
    s->eta_s = 0;
    journal_metrics(&t->run->journal, s);
    journal_event(&t->run->journal, JOB_EVENT_ENDED, NULL, -1, s->reason);
    journal_summary(&t->run->journal, s);
    if (t->run->o->folder)
        (void)job_driver_remove(t->run->o->folder, NULL);
    say_gaps(t);
}
