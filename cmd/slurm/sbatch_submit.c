/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_submit.c - runs sbatch, and says for Slurm what it leaves unsaid */
#include "sbatch_submit.h"

#include "cmd/slurm/sbatch_variables.h"
#include "cmd/slurm/slurm_program.h"
#include "cmd/slurm/slurm_time.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

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
    FACTS = 160,
    SUBMIT_S = 600, /* sbatch tries for two minutes where a controller is busy */
    HURRY_S = 10,   /* the same, for a caller that is to end */
    LOOK_MS = 100,  /* between two looks whether that is so */
    MORE_MS = 500,  /* for more lines, behind what may be the number */
};

/* Returns the different lines that sinfo prints with this format, ", " between them; "": none. */
static char *facts(const char *format)
{
    const char *const argv[] = { "sinfo", "-h", "-o", format, NULL };
    cleanup_free char *said = NULL;
    struct strbuf b = { 0 };
    char *state = NULL;

    if (slurm_program_run(argv, "", &said, NULL) != 0)
        return strdup("");
    for (char *line = strtok_r(said, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        line[strcspn(line, " ")] = '\0';
        if (!*line || strcmp(line, "(null)") == 0)
            continue;
        if (b.len + strlen(line) > FACTS) {
            strbuf_add(&b, ", ...");
            break;
        }
        strbuf_addf(&b, "%s%s", b.len ? ", " : "", line);
    }
    return strbuf_steal(&b);
}

/* ---- sentences ---- */

/* What Slurm's sentences are about; the first row whose words stand in one. */
static const struct {
    const char *words;
    const char *key[6]; /* which of the job's, NULL-ended */
    const char *there;  /* what begins the list of what there is, NULL: none */
    const char *format; /* of sinfo, for the list */
} cause[] = {
    { "artition", { "slurm.partition" }, "there are the partitions", "%R" },
    { "eature", { "slurm.constraint" }, "the nodes have the features", "%f" },
    { "generic resource", { "slurm.gres" }, "the nodes have", "%G" },
    { "node name", { "nodes" }, "there are the nodes", "%N" },
    { "ccount", { "slurm.account" }, NULL, NULL },
    { "QOS", { "slurm.qos" }, NULL, NULL },
    { "qos", { "slurm.qos" }, NULL, NULL },
    { "time", { "slurm.time" }, NULL, NULL },
    { "configuration is not available",
      { "slurm.nodes", "slurm.gres", "slurm.constraint", "slurm.cpus", "slurm.memory" },
      "no nodes of the partition have all of it; the nodes of all are",
      "%P:%D*(%c-cpus,%m-MB,%G,%f)" },
    { "ontact", { NULL }, NULL, NULL },
};

/* "slurm.gres is gpu:9 (train.yaml:7)" of each key that somebody has written. */
static void add_asked(const struct job *job, const char *const *key, struct strbuf *b)
{
    bool any = false;

    for (; *key; key++) {
        char value[120], origin[160];

        if (job_origin(job, *key).kind == JOB_DEFAULT)
            continue;
        job_value_text(job, *key, value, sizeof value);
        job_origin_text(job, *key, origin, sizeof origin);
        strbuf_addf(b, "%s%s is %s (%s)", any ? ", " : "; ", *key, value, origin);
        any = true;
    }
    if (job->slurm.n_components)
        strbuf_add(b, any ? ", or of slurm.components" : "; see slurm.components");
}

/* Slurm's own sentence: the last line, without what stands before all of them. */
static const char *own_sentence(char *said)
{
    static const char *const before[] = { "sbatch: ", "error: ", "fatal: ", "allocation failure: ",
                                          "Batch job submission failed: " };
    char *last = said, *state = NULL;

    for (char *line = strtok_r(said, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
        if (line[strspn(line, " \t")] && strncmp(line, "Try \"sbatch", 11) != 0)
            last = line;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strncmp(last, before[i], strlen(before[i])) == 0)
            last += strlen(before[i]);
    text_strip_control(last);
    return last;
}

/* What sbatch says where nobody has looked at the job. */
static bool is_absent(const char *sentence)
{
    static const char *const words[] = { "configuration source", "Unable to contact",
                                         "Connection refused", "Zero Bytes were transmitted" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(sentence, words[i]))
            return true;
    return false;
}

static int refused(const struct sbatch_ask *a, char *said, struct eddis_error *err)
{
    const char *sentence = own_sentence(said);
    struct strbuf b = { 0 };
    int rc;

    if (is_absent(sentence))
        return eddis_fail(err, -EHOSTDOWN,
                          "no Slurm answers this machine: \"%.160s\"; submit from one that has "
                          "Slurm's configuration while its controller runs, which scontrol ping "
                          "tells",
                          sentence);

    for (size_t i = 0; i < sizeof cause / sizeof *cause; i++) {
        cleanup_free char *list = NULL;

        if (!strstr(sentence, cause[i].words))
            continue;
        add_asked(a->job, cause[i].key, &b);
        list = cause[i].format ? facts(cause[i].format) : NULL;
        if (list && *list)
            strbuf_addf(&b, "; %s %s", cause[i].there, list);
        break;
    }
    if (strstr(sentence, "option"))
        strbuf_add(&b, "; what stands behind the job's file is sbatch's, see sbatch --help");
    rc = eddis_fail(err, -EINVAL, "Slurm does not take the job: \"%.160s\"%s",
                    *sentence ? sentence : "it does not say why", strbuf_text(&b));
    strbuf_fini(&b);
    return rc;
}

/* ---- time limits ---- */

/* The partition's limit in ns, CLOCK_NEVER where there is none or the partition is not known. */
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
                      "%s, but partition %s allows %" PRId64 " minutes: Slurm would take the job "
                      "and never start it",
                      where, partition ? partition : "by default", ns / (60 * CLOCK_S));
}

/* Whether the partitions' limits may not hold: a job that may have less time is started with that,
 * a QOS can have a limit of its own, and another cluster has other partitions of the same names.
 */
static bool is_lifted(const struct sbatch_ask *a)
{
    static const char *const variable[] = {
        "SBATCH_TIME_MIN", /* which sbatch does not read: it stands for the option */
        "SBATCH_QOS",
        "SBATCH_CLUSTERS",
        "SLURM_CLUSTERS",
    };
    const char *qos = a->job->slurm.qos;

    for (size_t i = 0; i < sizeof variable / sizeof *variable; i++)
        if (getenv(variable[i]) || sbatch_variables_named(a->words, variable[i]) ||
            sbatch_variables_named(a->job->slurm.extra, variable[i]))
            return true;
    return qos && strcmp(qos, "none") != 0;
}

/* Unless a site enforces limits, a job that asks for more time waits for ever. */
static int check_limits(const struct sbatch_ask *a, struct eddis_error *err)
{
    const char *const argv[] = { "sinfo", "-h", "-o", "%P|%l", NULL };
    cleanup_free char *table = NULL;
    int rc = 0;

    if (is_lifted(a) || slurm_program_run(argv, "", &table, NULL) != 0)
        return 0;
    for (size_t i = 0; i < sbatch_script_components(a->job) && rc == 0; i++)
        rc = check_limit(a, i, table, err);
    return rc;
}

/* ---- what callers want ---- */

int sbatch_submit_test(const struct sbatch_ask *a, const char *script, char **ret,
                       struct eddis_error *err)
{
    const char *const argv[] = { "sbatch", "--test-only", NULL };
    cleanup_free char *said = NULL;
    int rc;

    sbatch_script_drop_variables(a);
    rc = slurm_program_run(argv, script, &said, err);
    if (rc < 0)
        return rc;
    if (rc > 0)
        return refused(a, said, err);
    rc = check_limits(a, err);
    if (rc < 0)
        return rc;
    *ret = strdup(own_sentence(said));
    return *ret ? 0 : eddis_fail(err, -ENOMEM, "no memory for what sbatch said");
}

/* Whether the caller holds back a signal that is to end it. */
static bool is_hurried(void)
{
    sigset_t held;

    return sigpending(&held) == 0 &&
           (sigismember(&held, SIGINT) == 1 || sigismember(&held, SIGTERM) == 1 ||
            sigismember(&held, SIGHUP) == 1);
}

/* The time until which sbatch may take, which a caller that is to end makes shorter. */
static int64_t until(int64_t deadline_ns)
{
    int64_t soon_ns = clock_now_ns() + HURRY_S * CLOCK_S;

    return is_hurried() && soon_ns < deadline_ns ? soon_ns : deadline_ns;
}

/* What sbatch has said on its standard output. */
struct answer {
    int fd;
    char said[4096];
    size_t n;
    bool over;        /* there is no more */
    char number[256]; /* the last line of its form; "": there was none yet */
};

/* "12" or "12;cluster": where the last line begins that has this form, NULL: none has.  Sites have
 * banners before it, and behind it.
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

/* Take in what there is.  Of a long banner the end is kept. */
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
            a->said[0] = '.'; /* what is left of a number is none */
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

/* False: there was no number until sbatch closed the pipe, or was too late.  With --wait it does
 * not close it for long, so that silence behind a number is enough.
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

/* Wait for sbatch's end, which with --wait is the job's.  Returns its exit code; one that must be
 * killed has told its number.
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

/* Of a controller that answers late nobody can tell whether it has taken the job. */
static int no_number(const struct sbatch_ask *a, pid_t pid, struct eddis_error *err)
{
    static const struct spawn_rung soon[] = { { 0, CLOCK_S }, { SIGKILL, CLOCK_S } };
    int status = 0, code;

    (void)spawn_stop(-pid, soon, 2, &status, NULL);
    code = spawn_exit_code(status);
    if (code != 128 + SIGKILL)
        return eddis_fail(err, -EINVAL, "Slurm did not take the job, see above");
    return eddis_fail(
        err, -ETIMEDOUT,
        "sbatch was ended, for Slurm's controller did not answer; whether it has taken "
        "the job tells squeue --me --name=%s",
        a->job->name);
}

int sbatch_submit(const struct sbatch_ask *a, const char *script,
                  void (*got)(void *ctx, const char *id, const char *cluster), void *ctx,
                  struct eddis_error *err)
{
    const char *const argv[] = { "sbatch", "--parsable", NULL };
    cleanup_fd int in = slurm_program_text(script, err), write_end = -1, out = -1;
    struct answer answer = { .n = 0 };
    char *cluster;
    int ends[2], rc;
    pid_t pid;

    if (in < 0)
        return in;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return eddis_fail_errno(err, -errno, "cannot make a pipe for sbatch");
    answer.fd = out = ends[0];
    write_end = ends[1];
    sbatch_script_drop_variables(a);
    rc = slurm_program_start(argv, in, write_end, STDERR_FILENO, &pid, err);
    if (rc < 0)
        return rc;
    (void)close(write_end);
    write_end = -1;
    if (!await_number(&answer, clock_now_ns() + SUBMIT_S * CLOCK_S))
        return no_number(a, pid, err);
    cluster = answer.number + strcspn(answer.number, ";");
    if (*cluster == ';')
        *cluster++ = '\0';
    got(ctx, answer.number, cluster);
    return await(pid);
}
