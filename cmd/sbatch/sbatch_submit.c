/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_submit.c - runs sbatch, and checks what sbatch itself does not report */
#include "sbatch_submit.h"

#include "cmd/slurm/slurm_program.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/spawn.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/slurm/slurm_job.h"
#include "lib/slurm/slurm_time.h"
#include "sbatch_nodes.h"
#include "sbatch_refusal.h"
#include "sbatch_variables.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    /* Most seconds until sbatch gives a number; it retries for two minutes if busy. */
    SUBMIT_S = 600,
    HURRY_S = 10,       /* most seconds instead, once a signal is pending that ends the caller */
    LOOK_MS = 100,      /* interval of polling for that signal */
    MORE_MS = 500,      /* wait for further lines after one that may be the job number */
    REASON_MS = 2000,   /* longest wait until Slurm knows why a job is pending */
    SAID_MAX = 1 << 16, /* most bytes of sbatch's standard error that are read */
};

/* Check whether the environment has a variable of sbatch, or the options of the job or of the
 * command line have the option that the variable stands for.
 */
static bool is_named(const struct sbatch_ask *a, const char *variable)
{
    return getenv(variable) || sbatch_variables_named(a->words, variable) ||
           sbatch_variables_named(a->job->slurm.extra, variable);
}

/* Check whether the job may go to another cluster, about which sinfo on this machine knows nothing.
 */
static bool is_elsewhere(const struct sbatch_ask *a)
{
    return is_named(a, "SBATCH_CLUSTERS") || is_named(a, "SLURM_CLUSTERS");
}

/* ---- jobs that may start later ---- */

/* Check by its output whether "sbatch --test-only" may have rejected the job only because of the
 * nodes' present state.
 */
static bool is_of_now(const char *said)
{
    static const char *const words[] = { "configuration is not available",
                                         "configuration not available", "node not available",
                                         "nodes are busy" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(said, words[i]))
            return true;
    return false;
}

/* Return a sentence why the job, which sbatch has rejected with the output `said`, cannot start now
 * because nodes are unavailable; the caller frees it. NULL: that is not the reason, or no memory.
 * May block to ask sinfo.
 */
static char *why_later(const struct sbatch_ask *a, const char *said)
{
    char away[400] = "";
    char *ret;

    if (!is_of_now(said) || (!is_elsewhere(a) && sbatch_nodes_away(a, away, sizeof away) == 0))
        return NULL;
    return asprintf(&ret, "Slurm cannot start the job with the nodes that are up now%s%s",
                    *away ? ": " : "", away) < 0
               ? NULL
               : ret;
}

/* Parse the job's records in scontrol's output. Return 1 if a component can never start, and store
 * its record in *ret; 0 if all may start; -EAGAIN if Slurm has not examined a component yet.
 */
static int read_reason(const char *said, struct slurm_job *ret)
{
    struct slurm_job j;
    int rc = 0;

    while (slurm_job_next(&said, &j)) {
        if (slurm_job_never_starts(&j)) {
            *ret = j;
            return 1;
        }
        if (slurm_job_waits(&j) && strcmp(j.reason, "None") == 0)
            rc = -EAGAIN;
    }
    return rc;
}

/* Ask scontrol, for REASON_MS at most, whether a submitted job can never start. On true, *ret is
 * the record of the component that cannot. cluster: the job's; "": this machine's.
 */
static bool never_starts(const char *id, const char *cluster, struct slurm_job *ret)
{
    const char *const here[] = { "scontrol", "show", "job", id, NULL };
    const char *const there[] = { "scontrol", "-M", cluster, "show", "job", id, NULL };
    int64_t end_ns = clock_now_ns() + REASON_MS * CLOCK_MS;

    for (;;) {
        cleanup_free char *said = NULL;
        int rc = slurm_program_run(*cluster ? there : here, "", &said, NULL);

        if (rc == 0)
            rc = read_reason(said, ret);
        if (rc != -EAGAIN || clock_now_ns() >= end_ns)
            return rc == 1;
        clock_sleep_until_ns(clock_now_ns() + LOOK_MS * CLOCK_MS);
    }
}

/* Check that a submitted job can start at some time. If it never can, cancel it and return -EINVAL;
 * the error says if it could not be cancelled. Otherwise return 0. Block to ask Slurm.
 */
static int check_start(const struct sbatch_ask *a, const char *id, const char *cluster,
                       struct eddis_error *err)
{
    const char *const here[] = { "scancel", id, NULL };
    const char *const there[] = { "scancel", "-M", cluster, id, NULL };
    cleanup_free char *said = NULL;
    cleanup_strbuf struct strbuf b = { 0 };
    struct slurm_job j;
    char why[400];
    int rc;

    if (!never_starts(id, cluster, &j))
        return 0;
    rc = slurm_program_run(*cluster ? there : here, "", &said, NULL);
    sbatch_refusal_add_asked(a, &b);
    return eddis_fail(err, -EINVAL, "Slurm would never start the job: %s%s%s%s",
                      slurm_job_why(&j, why, sizeof why), strbuf_text(&b),
                      rc == 0 ? "" : "; it is still in the queue; to remove it, run scancel ",
                      rc == 0 ? "" : id);
}

/* ---- time limits ---- */

/* Return a partition's time limit in ns from sinfo's table of lines "name|limit"; partition NULL:
 * the default one. CLOCK_NEVER: no limit, or the partition is unknown. The table is changed.
 */
static int64_t limit_of(char *table, const char *partition)
{
    char *state = NULL;

    for (char *line = strtok_r(table, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        char *bar = strchr(line, '|');
        bool usual = bar && bar > line && bar[-1] == '*';
        int64_t ns;

        if (!bar)
            continue;
        bar[usual ? -1 : 0] = '\0';
        if (partition ? strcmp(line, partition) != 0 : !usual)
            continue;
        ns = slurm_time_limit_ns(bar + 1);
        return ns < 0 ? CLOCK_NEVER : ns;
    }
    return CLOCK_NEVER;
}

/* Check that component i of the job asks for no more time than its partition allows by sinfo's
 * table. Return 0 or -EINVAL.
 */
static int check_limit(const struct sbatch_ask *a, size_t i, const char *table,
                       struct eddis_error *err)
{
    const char *partition = sbatch_script_partition(a, i);
    cleanup_free char *copy = strdup(table);
    char where[240];
    int64_t asked_ns = sbatch_script_time_ns(a, i, where, sizeof where), ns;

    ns = copy ? limit_of(copy, partition) : CLOCK_NEVER;
    if (asked_ns <= ns)
        return 0;
    return eddis_fail(err, -EINVAL,
                      "%s, but partition %s allows %" PRId64
                      " minutes: Slurm would accept the job but never start it",
                      where, partition ? partition : "by default", ns / (60 * CLOCK_S));
}

/* Check whether the partition's time limit may not apply to the job: the job accepts less time
 * (--time-min), uses a QOS, which may have its own limit, or goes to another cluster, whose
 * partitions may differ.
 */
static bool is_lifted(const struct sbatch_ask *a)
{
    const char *qos = a->job->slurm.qos;

    /* sbatch has no variable SBATCH_TIME_MIN; the name only stands for --time-min here. */
    return is_named(a, "SBATCH_TIME_MIN") || is_named(a, "SBATCH_QOS") || is_elsewhere(a) ||
           (qos && strcmp(qos, "none") != 0);
}

/* Check that the job asks for no more time than its partitions allow: it would wait forever, unless
 * the site enforces limits at submission. Return 0, also if sinfo does not answer or the limits may
 * not apply; -EINVAL: it asks for more. Block to ask sinfo.
 */
static int check_limits(const struct sbatch_ask *a, struct eddis_error *err)
{
    const char *const argv[] = { "sinfo", "-h", "-a", "-o", "%P|%l", NULL };
    cleanup_free char *table = NULL;
    int rc = 0;

    if (is_lifted(a) || slurm_program_run(argv, "", &table, NULL) != 0)
        return 0;
    for (size_t i = 0; i < sbatch_script_components(a->job) && rc == 0; i++)
        rc = check_limit(a, i, table, err);
    return rc;
}

/* ---- entry points ---- */

int sbatch_submit_test(const struct sbatch_ask *a, const char *script, char **ret,
                       struct eddis_error *err)
{
    const char *const argv[] = { "sbatch", "--test-only", NULL };
    cleanup_free char *said = NULL, *later = NULL;
    int rc;

    sbatch_script_drop_variables(a);
    rc = slurm_program_run(argv, script, &said, err);
    if (rc < 0)
        return rc;
    later = rc > 0 ? why_later(a, said) : NULL;
    if (rc > 0 && !later)
        return sbatch_refusal(a, said, err);
    rc = check_limits(a, err);
    if (rc < 0)
        return rc;
    rc = later != NULL;
    *ret = later ? cleanup_keep(later) : strdup(sbatch_refusal_sentence(said));
    return *ret ? rc : eddis_fail(err, -ENOMEM, "no memory for the output of sbatch");
}

const char sbatch_submit_narrow[] =
    "Slurm gives the job one core, or one processor, of each node, which all its workers share; "
    "set slurm.cpus to the processors of a node that belong to slurm.gres, or to \"all\" for whole "
    "nodes";

/* Compare the processors in `said`, "Job 7 to start at ... using 4 processors on nodes node[1-4] in
 * partition main", with one core for each node: true if they are no more. False also if the job
 * chooses its processors. Sites that give processors with each GPU, or whole nodes only, have more
 * there.
 */
bool sbatch_submit_is_narrow(const struct sbatch_ask *a, const char *said)
{
    static const char using[] = " using ", on[] = " on nodes ";
    const char *at = strstr(said, using), *list = strstr(said, on), *where;
    const char *nodes = sbatch_script_said(a, 0, "nodes", 'N', &where);
    int64_t cpus = at ? strtoll(at + sizeof using - 1, NULL, 10) : 0, least;

    if (a->job->slurm.cpus != 0 || sbatch_script_components(a->job) != 1 || cpus <= 0 ||
        sbatch_script_said(a, 0, "cpus-per-task", 'c', &where) ||
        sbatch_script_said(a, 0, "cpus-per-gpu", 0, &where) ||
        sbatch_script_said(a, 0, "ntasks", 'n', &where))
        return false;
    least = list && !is_elsewhere(a) ? sbatch_nodes_least(list + sizeof on - 1) : 0;
    if (least == 0)
        least = nodes ? strtoll(nodes, NULL, 10) : sbatch_script_nodes(a->job);
    return cpus <= least;
}

/* Return deadline_ns, or HURRY_S from now if that is earlier and a signal is pending that ends the
 * caller.
 */
static int64_t until(int64_t deadline_ns)
{
    int64_t soon_ns = clock_now_ns() + HURRY_S * CLOCK_S;

    return slurm_program_is_interrupted() && soon_ns < deadline_ns ? soon_ns : deadline_ns;
}

/* The standard output of sbatch while it is read. */
struct answer {
    int fd;          /* read end of the pipe; borrowed */
    char said[4096]; /* the last n bytes of the output */
    size_t n;
    bool over;        /* end of file was read */
    char number[256]; /* the last line that has the form of a job number; "": none yet */
};

/* Borrow the last line "12" or "12;cluster" in the text that is complete, with its newline; NULL:
 * there is none. Sites print banners before and after it.
 */
static const char *number_in(const char *said)
{
    const char *found = NULL;

    for (const char *line = said; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, "\n"), digits = strspn(line, "0123456789");

        if (line[n] && digits && (digits == n || line[digits] == ';') &&
            digits + strcspn(line + digits, " \t\n") == n)
            found = line;
    }
    return found;
}

/* Read available output, and store in a->number the last line that may be the job number. Set
 * a->over at the end of file or on an error. Of a long banner, only the end is kept.
 */
static void read_more(struct answer *a)
{
    enum { PART = sizeof a->said / 4 };
    const char *line;
    ssize_t n;

    if (a->n > sizeof a->said / 2) {
        bool cut = a->said[a->n - PART - 1] != '\n';

        memmove(a->said, a->said + a->n - PART, PART);
        a->n = PART;
        if (cut)
            a->said[0] = '.'; /* a cut line must not look like a number */
    }
    n = read(a->fd, a->said + a->n, PART);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    a->over = n <= 0;
    a->n += n > 0 ? (size_t)n : 0;
    a->said[a->n] = '\0';
    line = number_in(a->said);
    if (line)
        (void)snprintf(a->number, sizeof a->number, "%.*s", (int)strcspn(line, "\n"), line);
}

/* Read sbatch's output until it has printed a job number (a->number), and return true. With --wait
 * sbatch keeps the pipe open, so silence of MORE_MS after a number is enough. Return false if the
 * output ends, or deadline_ns or a signal's shorter time limit comes, before a number.
 */
static bool await_number(struct answer *a, int64_t deadline_ns)
{
    struct pollfd p = { .fd = a->fd, .events = POLLIN };
    int64_t silent_ns = CLOCK_NEVER;

    while (!a->over &&
           clock_now_ns() < (*a->number ? silent_ns : (deadline_ns = until(deadline_ns)))) {
        if (poll(&p, 1, LOOK_MS) <= 0)
            continue;
        read_more(a);
        silent_ns = clock_now_ns() + MORE_MS * CLOCK_MS;
    }
    return *a->number;
}

/* Block until sbatch ends, which with --wait is the end of the job. Return its exit code. Return 0
 * if its exit code cannot be read, or if HURRY_S after a signal that ends the caller it was killed:
 * the job is already submitted.
 */
static int await(pid_t pid)
{
    static const struct spawn_rung now[] = { { SIGKILL, CLOCK_S } };
    int64_t deadline_ns = CLOCK_NEVER;
    int status;

    while (clock_now_ns() < (deadline_ns = until(deadline_ns))) {
        pid_t got = waitpid(pid, &status, WNOHANG);

        if (got == pid)
            return spawn_exit_code(status);
        if (got < 0 && errno != EINTR)
            return 0;
        clock_sleep_until_ns(clock_now_ns() + LOOK_MS * CLOCK_MS / 10);
    }
    (void)spawn_stop(-pid, now, 1, NULL, NULL);
    return 0;
}

/* Return the content of the file with sbatch's standard error; the caller frees it. "": it cannot
 * be read; NULL: no memory.
 */
static char *errors_of(int fd)
{
    char *said = NULL;

    if (lseek(fd, 0, SEEK_SET) < 0 || file_read_fd(fd, "sbatch", SAID_MAX, &said, NULL, NULL) < 0)
        return strdup("");
    return said;
}

/* How sbatch is ended: it has a second to end by itself. */
static const struct spawn_rung soon[] = { { 0, CLOCK_S }, { SIGKILL, CLOCK_S } };

/* End sbatch after it gave no job number, and set err to the reason. errors: its standard error
 * file; -1: already shown. Return -ETIMEDOUT: sbatch had to be killed, so nobody knows whether the
 * controller has accepted the job; -EHOSTDOWN: no controller answered; -EINVAL: Slurm rejected the
 * job.
 */
static int no_number(const struct sbatch_ask *a, pid_t pid, int errors, struct eddis_error *err)
{
    cleanup_free char *said = NULL;
    int status = 0, code;

    (void)spawn_stop(-pid, soon, 2, &status, NULL);
    code = spawn_exit_code(status);
    said = errors < 0 ? NULL : errors_of(errors);
    if (code != 128 + SIGKILL && said)
        return sbatch_refusal(a, said, err);
    if (code != 128 + SIGKILL)
        return eddis_fail(err, -EINVAL, "Slurm rejected the job, see above");
    return eddis_fail(err, -ETIMEDOUT,
                      "sbatch was ended because Slurm's controller did not answer; to see whether "
                      "it accepted the job, run squeue --me --name=%s",
                      a->job->name);
}

/* Report an accepted job through got(), then block until sbatch ends and return its exit code.
 * number: "12" or "12;cluster", is changed. errors: the file with sbatch's standard error, or -1.
 * If it is given, first check that the job can ever start, and otherwise cancel it and return
 * -EINVAL; at the end copy the file to our standard error.
 */
static int take_job(const struct sbatch_ask *a, char *number, pid_t pid, int errors,
                    void (*got)(void *ctx, const char *id, const char *cluster), void *ctx,
                    struct eddis_error *err)
{
    char *cluster = number + strcspn(number, ";");
    int code;

    if (*cluster == ';')
        *cluster++ = '\0';
    if (errors >= 0 && check_start(a, number, cluster, err) < 0) {
        (void)spawn_stop(-pid, soon, 2, NULL, NULL);
        return -EINVAL;
    }
    got(ctx, number, cluster);
    code = await(pid);
    if (errors >= 0) {
        cleanup_free char *said = errors_of(errors);

        fputs(said ? said : "", stderr);
    }
    return code;
}

int sbatch_submit(const struct sbatch_ask *a, const char *script, bool doubtful,
                  void (*got)(void *ctx, const char *id, const char *cluster), void *ctx,
                  struct eddis_error *err)
{
    const char *const argv[] = { "sbatch", "--parsable", NULL };
    cleanup_fd int in = slurm_program_text(script, err), write_end = -1, out = -1, errors = -1;
    struct answer answer = { .n = 0 };
    int ends[2], rc;
    pid_t pid;

    if (in < 0)
        return in;
    if (doubtful && (errors = slurm_program_text("", err)) < 0)
        return errors;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return eddis_fail_errno(err, -errno, "cannot make a pipe for sbatch");
    answer.fd = out = ends[0];
    write_end = ends[1];
    sbatch_script_drop_variables(a);
    rc = slurm_program_start(argv, in, write_end, doubtful ? errors : STDERR_FILENO, &pid, err);
    if (rc < 0)
        return rc;
    (void)close(write_end);
    write_end = -1;
    if (!await_number(&answer, clock_now_ns() + SUBMIT_S * CLOCK_S))
        return no_number(a, pid, errors, err);
    return take_job(a, answer.number, pid, errors, got, ctx, err);
}
