/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_submit.c - runs sbatch, and says for Slurm what it leaves unsaid */
#include "sbatch_submit.h"

#include "cmd/slurm/slurm_program.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FACTS = 160 };

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

static int refused(const struct sbatch_ask *a, char *said, struct eddis_error *err)
{
    const char *sentence = own_sentence(said);
    struct strbuf b = { 0 };
    int rc;

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
    int64_t ns;

    for (char *line = strtok_r(table, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        char *bar = strchr(line, '|');
        bool usual = bar && bar > line && bar[-1] == '*';

        if (!bar)
            continue;
        bar[usual ? -1 : 0] = '\0';
        if (partition ? strcmp(line, partition) == 0 : usual)
            return text_duration_ns(bar + 1, &ns, NULL) < 0 ? CLOCK_NEVER : ns;
    }
    return CLOCK_NEVER;
}

/* Unless a site enforces limits, a job that asks for more time waits for ever. */
static int check_limits(const struct sbatch_ask *a, struct eddis_error *err)
{
    const char *const argv[] = { "sinfo", "-h", "-o", "%P|%l", NULL };
    size_t n = a->job->slurm.n_components ? a->job->slurm.n_components : 1;
    cleanup_free char *table = NULL;
    char where[240];
    int64_t asked_ns = sbatch_script_time_ns(a, where, sizeof where);

    if (asked_ns == CLOCK_NEVER || slurm_program_run(argv, "", &table, NULL) != 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const char *partition = sbatch_script_partition(a, i);
        cleanup_free char *copy = strdup(table);
        int64_t ns = copy ? limit_of(copy, partition) : CLOCK_NEVER;

        if (asked_ns > ns)
            return eddis_fail(err, -EINVAL,
                              "%s, but partition %s allows %" PRId64 " minutes: Slurm would take "
                              "the job and never start it",
                              where, partition ? partition : "by default", ns / (60 * CLOCK_S));
    }
    return 0;
}

/* ---- what callers want ---- */

int sbatch_submit_test(const struct sbatch_ask *a, const char *script, char **ret,
                       struct eddis_error *err)
{
    const char *const argv[] = { "sbatch", "--test-only", NULL };
    cleanup_free char *said = NULL;
    int rc = slurm_program_run(argv, script, &said, err);

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

int sbatch_submit(const char *script, void (*got)(void *ctx, const char *id, const char *cluster),
                  void *ctx, struct eddis_error *err)
{
    const char *const argv[] = { "sbatch", "--parsable", NULL };
    cleanup_fd int in = slurm_program_text(script, err), write_end = -1;
    cleanup_file FILE *out = NULL;
    int ends[2], rc;
    char line[256] = "";
    pid_t pid;

    if (in < 0)
        return in;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return eddis_fail_errno(err, -errno, "cannot make a pipe for sbatch");
    write_end = ends[1];
    out = fdopen(ends[0], "r");
    if (!out) {
        (void)close(ends[0]);
        return eddis_fail(err, -ENOMEM, "no memory for what sbatch says");
    }
    rc = slurm_program_start(argv, in, write_end, STDERR_FILENO, &pid, err);
    if (rc < 0)
        return rc;
    (void)close(write_end);
    write_end = -1;
    if (fgets(line, sizeof line, out)) {
        char *cluster = line + strcspn(line, ";\n");

        line[strcspn(line, "\n")] = '\0';
        if (*cluster == ';')
            *cluster++ = '\0';
        got(ctx, line, cluster);
    }
    rc = slurm_program_wait(pid);
    return *line ? rc : eddis_fail(err, -EINVAL, "Slurm did not take the job, see above");
}
