/* SPDX-License-Identifier: Apache-2.0 */
/* run_slurm.c - submits a job to Slurm and follows it to its end
 *
 * Slurm is polled rarely, since its controller serves all users: soon after the start, and then
 * less and less often. The job's output is read from its file as it grows. Nothing here blocks on
 * the reader of our output. A program of Slurm's may take PATIENCE_NS; meanwhile no output is
 * copied, and if it runs because of a Ctrl-C, the next Ctrl-C is handled after it.
 */
#include "run_slurm.h"

#include "cmd/sbatch/sbatch_options.h"
#include "cmd/sbatch/sbatch_submit.h"
#include "cmd/slurm/slurm_output.h"
#include "cmd/slurm/slurm_program.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/slurm/slurm_job.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LOOK_NS     (CLOCK_S / 4)  /* interval of polling the job's output file */
#define FIRST_NS    (CLOCK_S / 4)  /* interval of polling Slurm at first */
#define LAST_NS     (5 * CLOCK_S)  /* longest interval of polling Slurm */
#define URGENT_NS   (5 * CLOCK_S)  /* time limit of a program of Slurm's after a second signal */
#define LATE_NS     (10 * CLOCK_S) /* longest wait for output after the job's end */
#define PATIENCE_NS (10 * CLOCK_S) /* time limit of a program of Slurm's otherwise */

/* A Slurm job that is followed to its end. */
struct follow {
    char id[64];
    bool quiet;
    int signals;                   /* signalfd of SIGINT and SIGTERM */
    int asked;                     /* number of signals received */
    int number;                    /* the first signal received */
    struct slurm_job job;          /* the job as Slurm reported it last; state "": not yet */
    char printed[SLURM_JOB_NODES]; /* the job's nodes that were printed last */
    struct slurm_output out;
    int64_t pause_ns, next_ns; /* next interval of polling Slurm; when to poll it next */
    bool silent;               /* Slurm does not answer, and that was printed */
};

/* Print a message about the job to standard error, unless quiet. */
static void say(const struct follow *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Print a message about the job to standard error, unless quiet. It is dropped if the reader does
 * not take it within a second: the pipe is full of earlier messages.
 */
static void say(const struct follow *f, const char *fmt, ...)
{
    struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };
    char text[600];
    va_list ap;

    if (f->quiet || poll(&ready, 1, 1000) == 0)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    text_strip_control(text);
    fprintf(stderr, "eddis-run: job %s %s\n", f->id, text);
}

/* ---- polling Slurm ---- */

/* Print on which nodes the job runs; or on which it ran, if it is over: a short job may have
 * started and ended between two polls. Print each list of nodes only once, unless the job waited
 * again.
 */
static void report_place(struct follow *f, const struct slurm_job *now)
{
    bool runs = strcmp(now->state, "RUNNING") == 0;
    bool ran = slurm_job_is_over(now) && strcmp(now->state, "BOOT_FAIL") != 0;

    if (slurm_job_waits(now))
        f->printed[0] = '\0';
    if ((!runs && !ran) || !*now->nodes || *now->nodes == '(' ||
        strcmp(f->printed, now->nodes) == 0)
        return;
    say(f, "%s on %.300s", runs ? "runs" : "ran", now->nodes);
    memcpy(f->printed, now->nodes, sizeof f->printed);
}

/* Print what has changed in `now` since the last poll, f->job: nodes, why the job waits, or how it
 * ended.
 */
static void tell_change(struct follow *f, const struct slurm_job *now)
{
    bool other = strcmp(f->job.state, now->state) != 0;
    char why[400];

    report_place(f, now);
    if (slurm_job_waits(now) && strcmp(now->reason, "None") == 0)
        return; /* Slurm has not examined the job yet */
    if (slurm_job_waits(now) && (other || strcmp(f->job.reason, now->reason) != 0))
        say(f, "waits: %s", slurm_job_why(now, why, sizeof why));
    else if (other && slurm_job_is_over(now) && strcmp(now->state, "COMPLETED") != 0)
        say(f, "has ended: %s", now->state);
}

/* Ask Slurm for the job's state, store it in f->job and print what has changed. Return 1 if the job
 * is over; 0 if it is not, or if Slurm does not answer; -ENOENT if Slurm no longer knows the job. A
 * signal that arrives ends the query with 0, so that it is handled immediately; after two signals
 * it does not, so that the job's end is seen even if Ctrl-C is held down.
 */
static int ask(struct follow *f, struct eddis_error *err)
{
    const char *const argv[] = { "scontrol", "show", "job", f->id, NULL };
    cleanup_free char *said = NULL;
    struct slurm_job now;
    bool urgent = f->asked >= 2;
    int rc = slurm_program_run_for(argv, "", urgent ? URGENT_NS : PATIENCE_NS, !urgent, &said, err);

    if (rc == 0 && slurm_job_parse(said, &now)) {
        tell_change(f, &now);
        if (strcmp(f->job.state, now.state) != 0)
            f->pause_ns = FIRST_NS;
        f->job = now;
        f->silent = false;
        return slurm_job_is_over(&now);
    }
    if (rc == -EINTR)
        return 0;
    if (said && slurm_job_is_unknown(said))
        return eddis_fail(err, -ENOENT, "Slurm no longer knows job %s, so its exit code is unknown",
                          f->id);
    if (!f->silent)
        say(f, "is still followed, but Slurm does not answer at the moment");
    f->silent = true;
    return 0;
}

/* Cancel the job; or, with option and signal (arguments of scancel), only send it that signal.
 * Block until scancel ends, which further signals to this process do not end. Print why if it
 * fails.
 */
static void cancel(const struct follow *f, const char *option, const char *signal)
{
    const char *const all[] = { "scancel", f->id, NULL };
    const char *const one[] = { "scancel", option, signal, f->id, NULL };
    cleanup_free char *said = NULL;
    struct eddis_error err = { 0 };
    int rc = slurm_program_run_for(option ? one : all, "", f->asked > 1 ? URGENT_NS : PATIENCE_NS,
                                   false, &said, &err);

    if (rc != 0)
        say(f, "cannot be cancelled: %.300s", rc < 0 ? err.text : said);
}

/* Read a pending signal and count it. Return false if there is none. */
static bool read_signal(struct follow *f)
{
    struct signalfd_siginfo info;

    if (read(f->signals, &info, sizeof info) != sizeof info)
        return false;
    if (f->asked++ == 0)
        f->number = (int)info.ssi_signo;
    return true;
}

/* Handle a signal to this process: the first asks a running job to save and end, any other cancels
 * it.
 */
static void take_signal(struct follow *f)
{
    if (!read_signal(f))
        return;
    if (f->asked == 1 && strcmp(f->job.state, "RUNNING") == 0) {
        say(f, "was asked to save and end; press Ctrl-C again to have Slurm end it");
        cancel(f, "--batch", f->number == SIGINT ? "--signal=INT" : "--signal=TERM");
    } else {
        if (f->asked <= 2)
            say(f, "is cancelled");
        cancel(f, NULL, NULL);
    }
    f->pause_ns = FIRST_NS;
    f->next_ns = 0;
}

/* ---- from submission to end ---- */

/* Store the number of the job that Slurm has accepted in f->id, and print that it is queued. A
 * callback of sbatch_submit; ctx: struct follow.
 */
static void on_got(void *ctx, const char *id, const char *cluster)
{
    struct follow *f = ctx;

    (void)snprintf(f->id, sizeof f->id, "%s", id);
    if (*cluster)
        say(f, "is in the queue of %s", cluster);
    else
        say(f, "is in Slurm's queue");
}

/* Check whether to stop following the job, since three signals have come and Slurm does not answer.
 * If so, print that the job is left to Slurm.
 */
static bool is_left(const struct follow *f)
{
    if (f->asked < 3 || !f->silent)
        return false;
    say(f, "is no longer followed, since Slurm does not answer; run squeue to see whether it has "
           "ended");
    return true;
}

/* Block until a signal comes, and handle it; until standard output has room, if `more` output is
 * left to copy; or until until_ns.
 */
static void rest(struct follow *f, bool more, int64_t until_ns)
{
    struct pollfd p[] = { { .fd = f->signals, .events = POLLIN },
                          { .fd = more ? STDOUT_FILENO : -1, .events = POLLOUT } };

    if (poll(p, 2, clock_poll_ms(until_ns)) > 0 && p[0].revents)
        take_signal(f);
}

/* Check whether output may still be missing: a network file system shows it late. */
static bool is_late(const struct follow *f)
{
    return f->out.failed || (*f->job.first && slurm_output_may_come(&f->out, f->job.out));
}

/* Copy the rest of the job's output after its end, and block until the file is complete here,
 * LATE_NS at most if nothing more comes. Return false if a signal has ended this, or if the user
 * has sent one before and the reader of our output takes nothing for URGENT_NS.
 */
static bool copy_rest(struct follow *f)
{
    struct pollfd p[] = { { .fd = f->signals, .events = POLLIN }, { .events = POLLOUT } };
    int64_t end_ns = clock_now_ns() + (f->asked ? URGENT_NS : LATE_NS);
    bool reported = false;

    for (;;) {
        bool more = slurm_output_copy(&f->out, f->job.out, STDOUT_FILENO);
        int64_t until_ns = more && !f->asked ? CLOCK_NEVER
                           : more            ? clock_now_ns() + URGENT_NS
                                             : clock_now_ns() + LOOK_NS;
        int rc;

        if (!more && (!is_late(f) || clock_now_ns() >= end_ns))
            return true;
        if (!more && !reported)
            say(f, "has ended; waiting ten seconds at most for its output in %s", f->job.out);
        reported = reported || !more;
        p[1].fd = more ? STDOUT_FILENO : -1;
        rc = poll(p, 2, clock_poll_ms(until_ns));
        if (rc == 0 && more)
            return false;
        if (rc > 0 && p[0].revents && read_signal(f))
            return false;
    }
}

/* Follow the job to its end: poll Slurm, copy its output to standard output, handle signals. Return
 * the job's exit code; 128 + the first signal if that ended the job, its output or the following;
 * -ENOENT if Slurm has forgotten the job.
 */
static int follow(struct follow *f, struct eddis_error *err)
{
    bool read_to_end;
    int rc = 0;

    while (rc == 0) {
        int64_t now_ns = clock_now_ns();
        bool more;

        if (now_ns >= f->next_ns) {
            rc = ask(f, err);
            f->next_ns = now_ns + f->pause_ns;
            f->pause_ns = f->pause_ns * 5 / 4 < LAST_NS ? f->pause_ns * 5 / 4 : LAST_NS;
        }
        more = slurm_output_copy(&f->out, f->job.out, STDOUT_FILENO);
        if (rc == 0)
            rest(f, more, now_ns + LOOK_NS);
        if (is_left(f))
            return 128 + f->number;
    }
    if (rc < 0)
        return rc;
    read_to_end = copy_rest(f);
    if (!f->out.seen && !f->out.is_others)
        say(f, "has its output in %s, which this machine cannot see", f->job.out);
    else if (f->out.failed)
        say(f, "has its output in %s, which this machine cannot read to its end", f->job.out);
    if (!read_to_end || (f->asked && strcmp(f->job.state, "CANCELLED") == 0))
        return 128 + f->number;
    return slurm_job_code(&f->job);
}

/* ---- jobs that cannot be followed ---- */

/* Check whether a word of slurm.extra is sbatch's option --array or -a, also abbreviated. */
static bool is_array(const char *word)
{
    return strncmp(word, "--ar", 4) == 0 || strncmp(word, "-a", 2) == 0;
}

int run_slurm_check(const struct sbatch_ask *a, struct eddis_error *err)
{
    static const char *const clusters[] = { "SBATCH_CLUSTERS", "SLURM_CLUSTERS" };
    char *const *extra = a->job->slurm.extra;

    if (sbatch_options_have(extra, "wait", 'W'))
        return eddis_fail(err, -EINVAL,
                          "--slurm waits for the job by itself; leave --wait out of slurm.extra");
    for (char *const *word = extra; word && *word; word++)
        if (is_array(*word))
            return eddis_fail(err, -EINVAL,
                              "--slurm follows one job, but \"%.100s\" in slurm.extra makes many; "
                              "run eddis-sbatch train.yaml to submit them all",
                              *word);
    if (getenv("SBATCH_ARRAY_INX"))
        return eddis_fail(err, -EINVAL,
                          "--slurm follows one job, but the variable SBATCH_ARRAY_INX makes many; "
                          "unset it, or run eddis-sbatch train.yaml to submit them all");
    if (sbatch_options_have(extra, "clusters", 'M'))
        return eddis_fail(err, -EINVAL,
                          "--slurm follows jobs of this cluster only; leave --clusters out of "
                          "slurm.extra, or run eddis-sbatch train.yaml to submit the job");
    for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++)
        if (getenv(clusters[i]))
            return eddis_fail(
                err, -EINVAL,
                "--slurm follows jobs of this cluster only, but the variable %s names others; "
                "unset it, or run eddis-sbatch train.yaml to submit the job",
                clusters[i]);
    return 0;
}

/* ---- entry point ---- */

/* Block SIGINT and SIGTERM and receive them by the signalfd f->signals: before sbatch runs, so that
 * a signal cannot end this process and leave a job behind. Return 0 or a negative error.
 */
static int hold_signals(struct follow *f, struct eddis_error *err)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
        (f->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
        return eddis_fail_errno(err, -errno, "cannot wait for signals");
    return 0;
}

/* Follow the accepted job to its end. Return the exit code of follow; if that fails, print why and
 * return 1.
 */
static int follow_it(struct follow *f)
{
    struct eddis_error why = { 0 };
    int rc = follow(f, &why);

    if (rc >= 0)
        return rc;
    say(f, "is lost: %s", why.text);
    return 1;
}

int run_slurm(const struct sbatch_ask *a, bool quiet, struct eddis_error *err)
{
    struct follow f = { .quiet = quiet, .pause_ns = FIRST_NS };
    cleanup_free char *script = sbatch_script_text(a), *start = NULL;
    bool doubtful;
    int rc;

    if (!script)
        return eddis_fail(err, -ENOMEM, "no memory for the script");
    (void)unsetenv("SBATCH_WAIT"); /* sbatch would run until the job's end and ignore Ctrl-C */
    rc = sbatch_submit_test(a, script, &start, err);
    if (rc < 0)
        return rc;
    doubtful = rc == 1;
    if (rc == 0 && !quiet && sbatch_submit_is_narrow(a, start))
        fprintf(stderr, "eddis-run: %s\n", sbatch_submit_narrow);
    rc = hold_signals(&f, err);
    if (rc < 0)
        return rc;
    rc = sbatch_submit(a, script, doubtful, on_got, &f, err);
    if (rc >= 0)
        rc = follow_it(&f);
    (void)close(f.signals);
    return rc;
}
