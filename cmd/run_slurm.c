/* SPDX-License-Identifier: Apache-2.0 */
/* run_slurm.c - submits a job and follows it
 *
 * Slurm is asked rarely, for its controller serves everybody: soon after the start and then less
 * and less often.  The job's output is read from its file as it grows.
 */
#include "run_slurm.h"

#include "cmd/slurm/sbatch_submit.h"
#include "cmd/slurm/sbatch_words.h"
#include "cmd/slurm/slurm_job.h"
#include "cmd/slurm/slurm_program.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS  (CLOCK_S / 4) /* between two looks at the output */
#define FIRST_NS (CLOCK_S / 4) /* between two questions to Slurm, at first ... */
#define LAST_NS  (5 * CLOCK_S) /* ... and in the end */

struct follow {
    char id[64];
    bool quiet;
    int signals;          /* descriptor that tells of them */
    int asked;            /* how many there were */
    int number;           /* the first one */
    struct slurm_job job; /* as Slurm told last; its state is "" before */
    int out;              /* its output's file, -1: not seen yet */
    off_t at;             /* bytes of it that were copied */
    int64_t pause_ns, next_ns;
    bool silent; /* Slurm does not answer, which was said */
};

static void say(const struct follow *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(const struct follow *f, const char *fmt, ...)
{
    char text[600];
    va_list ap;

    if (f->quiet)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    text_strip_control(text);
    fprintf(stderr, "eddis-run: job %s %s\n", f->id, text);
}

/* ---- the job's output ---- */

static void copy_output(struct follow *f)
{
    char bytes[65536];
    struct stat st;
    ssize_t n;

    /* A pipe's data are another's, and who waits for its reader is none of ours. */
    if (f->out < 0 && f->job.out[0] && stat(f->job.out, &st) == 0 && S_ISREG(st.st_mode))
        f->out = open(f->job.out, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (f->out < 0)
        return;
    if (fstat(f->out, &st) == 0 && st.st_size < f->at)
        f->at = 0; /* a job that was put back writes it anew */
    while ((n = pread(f->out, bytes, sizeof bytes, f->at)) > 0) {
        if (file_write_all(STDOUT_FILENO, bytes, (size_t)n, NULL) < 0)
            return; /* its reader has gone; the job goes on */
        f->at += n;
    }
}

/* ---- Slurm ---- */

static void tell_change(const struct follow *f, const struct slurm_job *now)
{
    bool other = strcmp(f->job.state, now->state) != 0;
    char why[400];

    if (slurm_job_waits(now) && strcmp(now->reason, "None") == 0)
        return; /* nobody has looked at it yet */
    if (slurm_job_waits(now) && (other || strcmp(f->job.reason, now->reason) != 0))
        say(f, "waits: %s", slurm_job_why(now, why, sizeof why));
    else if (other && strcmp(now->state, "RUNNING") == 0)
        say(f, "runs on %s", now->nodes);
    else if (other && slurm_job_is_over(now) && strcmp(now->state, "COMPLETED") != 0)
        say(f, "has ended: %s", now->state);
}

/* Returns 1 when the job is over, 0 when it is not or nobody knows. */
static int ask(struct follow *f, struct eddis_error *err)
{
    const char *const argv[] = { "scontrol", "-o", "show", "job", f->id, NULL };
    cleanup_free char *said = NULL;
    struct slurm_job now;
    int rc = slurm_program_run(argv, "", &said, err);

    if (rc == 0 && slurm_job_parse(said, &now)) {
        tell_change(f, &now);
        if (strcmp(f->job.state, now.state) != 0)
            f->pause_ns = FIRST_NS;
        f->job = now;
        f->silent = false;
        return slurm_job_is_over(&now);
    }
    if (said && strstr(said, "Invalid job id"))
        return eddis_fail(err, -ENOENT, "Slurm has forgotten job %s, so nobody knows how it ended",
                          f->id);
    if (!f->silent && rc != -EINTR)
        say(f, "is followed further; but Slurm does not answer now");
    f->silent = true;
    return 0;
}

static void cancel(const struct follow *f, const char *option, const char *signal)
{
    const char *const all[] = { "scancel", f->id, NULL };
    const char *const one[] = { "scancel", option, signal, f->id, NULL };
    cleanup_free char *said = NULL;
    struct eddis_error err = { 0 };
    int rc = slurm_program_run(option ? one : all, "", &said, &err);

    if (rc != 0 && rc != -EINTR)
        say(f, "cannot be cancelled: %.300s", rc < 0 ? err.text : said);
}

/* A signal for us is one for the job. */
static void take_signal(struct follow *f)
{
    struct signalfd_siginfo info;

    if (read(f->signals, &info, sizeof info) != sizeof info)
        return;
    if (f->asked++ == 0)
        f->number = (int)info.ssi_signo;
    if (f->asked == 1 && strcmp(f->job.state, "RUNNING") == 0) {
        say(f, "is told to save and end; another Ctrl-C has Slurm end it");
        cancel(f, "--batch", f->number == SIGINT ? "--signal=INT" : "--signal=TERM");
    } else {
        say(f, "is cancelled");
        cancel(f, NULL, NULL);
    }
    f->pause_ns = FIRST_NS;
    f->next_ns = 0;
}

/* ---- from submit to end ---- */

static void on_got(void *ctx, const char *id, const char *cluster)
{
    struct follow *f = ctx;

    (void)snprintf(f->id, sizeof f->id, "%s", id);
    if (*cluster)
        say(f, "is in the queue of %s", cluster);
    else
        say(f, "is in Slurm's queue");
}

/* Who has asked three times does not wait for a Slurm that is silent. */
static bool is_left(const struct follow *f)
{
    if (f->asked < 3 || !f->silent)
        return false;
    say(f, "is left to Slurm, which does not answer; squeue tells whether it has ended");
    return true;
}

static int follow(struct follow *f, struct eddis_error *err)
{
    struct pollfd p = { .fd = f->signals, .events = POLLIN };
    int rc = 0;

    while (rc == 0) {
        int64_t now_ns = clock_now_ns();

        if (now_ns >= f->next_ns) {
            rc = ask(f, err);
            f->next_ns = now_ns + f->pause_ns;
            f->pause_ns = f->pause_ns * 5 / 4 < LAST_NS ? f->pause_ns * 5 / 4 : LAST_NS;
        }
        copy_output(f);
        if (rc == 0 && poll(&p, 1, (int)(LOOK_NS / CLOCK_MS)) > 0)
            take_signal(f);
        if (is_left(f))
            return 128 + f->number;
    }
    if (rc < 0)
        return rc;
    if (f->out < 0)
        say(f, "has its output in %s, which this machine does not see", f->job.out);
    if (f->asked && strcmp(f->job.state, "CANCELLED") == 0)
        return 128 + f->number;
    return slurm_job_code(&f->job);
}

int run_slurm(const struct sbatch_ask *a, bool quiet, struct eddis_error *err)
{
    struct follow f = { .quiet = quiet, .out = -1, .pause_ns = FIRST_NS };
    cleanup_free char *script = sbatch_script_text(a), *start = NULL;
    sigset_t set;
    int rc;

    if (!script)
        return eddis_fail(err, -ENOMEM, "no memory for the script");
    if (sbatch_words_have(a->job->slurm.extra, "wait", 'W'))
        return eddis_fail(err, -EINVAL,
                          "--slurm waits for the job by itself; leave --wait out of slurm.extra");
    (void)unsetenv("SBATCH_WAIT"); /* sbatch would stay, deaf to Ctrl-C, until the job's end */
    rc = sbatch_submit_test(a, script, &start, err);
    if (rc < 0)
        return rc;
    /* From here on: a signal that came just before the number would leave a job behind. */
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
        (f.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
        return eddis_fail_errno(err, -errno, "cannot wait for signals");
    rc = sbatch_submit(a, script, on_got, &f, err);
    if (rc >= 0) {
        struct eddis_error why = { 0 };

        rc = follow(&f, &why);
        if (rc < 0) {
            say(&f, "is lost: %s", why.text);
            rc = 1;
        }
    }
    if (f.out >= 0)
        (void)close(f.out);
    (void)close(f.signals);
    return rc;
}
