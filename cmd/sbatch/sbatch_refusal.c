/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_refusal.c - explains an error of sbatch with the job's keys and with what the site offers
 */
#include "sbatch_refusal.h"

#include "cmd/slurm/slurm_program.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/job/job_text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { FACTS = 160 }; /* most bytes of a list of what the site offers */

/* Return the first words of the lines that sinfo prints in this format as one text "a, b, ...", cut
 * at FACTS bytes; the caller frees it. "": there are none, or sinfo fails; NULL: no memory. Block
 * until sinfo ends.
 */
static char *facts(const char *format)
{
    const char *const argv[] = { "sinfo", "-h", "-a", "-o", format, NULL };
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

/* Causes of a rejection; the first row whose words occur in Slurm's sentence applies. */
static const struct {
    const char *words;
    const char *key[6]; /* keys of the job that the cause is about, NULL-ended */
    const char *there;  /* introduces the list of what the site offers; NULL: no list */
    const char *format; /* sinfo's output format for the list */
} cause[] = {
    { "artition", { "slurm.partition" }, "the partitions are", "%R" },
    { "eature", { "slurm.constraint" }, "the nodes have the features", "%f" },
    { "generic resource", { "slurm.gres" }, "the nodes have", "%G" },
    { "node name", { "nodes" }, "the nodes are", "%N" },
    { "ccount", { "slurm.account" }, NULL, NULL },
    { "QOS", { "slurm.qos" }, NULL, NULL },
    { "qos", { "slurm.qos" }, NULL, NULL },
    { "time", { "slurm.time" }, NULL, NULL },
    { "configuration is not available",
      { "slurm.nodes", "slurm.gres", "slurm.constraint", "slurm.cpus", "slurm.memory" },
      "no nodes of the partition have all of it; all partitions' nodes are",
      "%P:%D*(%c-cpus,%m-MB,%G,%f)" },
    { "ontact", { NULL }, NULL, NULL },
};

/* sbatch's options that override keys of the job's file. */
static const struct option {
    const char *key, *name;
    char letter; /* 0: none */
} options[] = {
    { "slurm.partition", "partition", 'p' },
    { "slurm.constraint", "constraint", 'C' },
    { "slurm.gres", "gres", 0 },
    { "nodes", "nodelist", 'w' },
    { "slurm.account", "account", 'A' },
    { "slurm.qos", "qos", 'q' },
    { "slurm.time", "time", 't' },
    { "slurm.nodes", "nodes", 'N' },
    { "slurm.cpus", "cpus-per-task", 'c' },
    { "slurm.memory", "mem", 0 },
};

/* Append to b, after the text `before`, '--nodes is "9" (command line)' if an option of sbatch
 * overrides the key. Return false and append nothing if none does.
 */
static bool add_option(const struct sbatch_ask *a, const char *key, const char *before,
                       struct strbuf *b)
{
    const struct option *o = options;

    while (strcmp(o->key, key) != 0)
        o++;
    for (size_t i = 0; i < sbatch_script_components(a->job); i++) {
        const char *where, *value = sbatch_script_said(a, i, o->name, o->letter, &where);

        if (!value)
            continue;
        strbuf_addf(b, "%s--%s is \"%.100s\" (%s)", before, o->name, value, where);
        return true;
    }
    return false;
}

/* Append "; slurm.gres is gpu:9 (train.yaml:7)" to b for each of these keys (NULL-ended) that an
 * option or the job's file sets.
 */
static void add_asked(const struct sbatch_ask *a, const char *const *key, struct strbuf *b)
{
    const struct job *job = a->job;
    bool any = false;

    for (; *key; key++) {
        const char *before = any ? ", " : "; ";
        char value[120], origin[160];

        if (add_option(a, *key, before, b)) {
            any = true;
            continue;
        }
        if (job_origin(job, *key).kind == JOB_DEFAULT)
            continue;
        job_value_text(job, *key, value, sizeof value);
        job_origin_text(job, *key, origin, sizeof origin);
        strbuf_addf(b, "%s%s is %s (%s)", before, *key, value, origin);
        any = true;
    }
    if (job->slurm.n_components)
        strbuf_add(b, any ? ", or of slurm.components" : "; see slurm.components");
}

void sbatch_refusal_add_asked(const struct sbatch_ask *a, struct strbuf *b)
{
    static const char *const key[] = {
        "slurm.partition",  "slurm.nodes", "nodes",        "slurm.gres",
        "slurm.constraint", "slurm.cpus",  "slurm.memory", NULL
    };

    add_asked(a, key, b);
}

/* Return Slurm's error sentence within `said`: the last line, without the prefixes that sbatch
 * writes before it and without control characters. `said` is changed.
 */
const char *sbatch_refusal_sentence(char *said)
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

/* Check whether sbatch's sentence says that it has reached no controller, so that Slurm has not
 * examined the job.
 */
static bool is_absent(const char *sentence)
{
    static const char *const words[] = { "configuration source", "Unable to contact",
                                         "Connection refused", "Zero Bytes were transmitted" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(sentence, words[i]))
            return true;
    return false;
}

int sbatch_refusal(const struct sbatch_ask *a, char *said, struct eddis_error *err)
{
    const char *sentence = sbatch_refusal_sentence(said);
    cleanup_strbuf struct strbuf b = { 0 };

    if (is_absent(sentence))
        return eddis_fail(
            err, -EHOSTDOWN,
            "Slurm does not answer on this machine: \"%.160s\"; submit from a machine that has "
            "Slurm's configuration, and run scontrol ping to check that its controller runs",
            sentence);

    for (size_t i = 0; i < sizeof cause / sizeof *cause; i++) {
        cleanup_free char *list = NULL;

        if (!strstr(sentence, cause[i].words))
            continue;
        add_asked(a, cause[i].key, &b);
        list = cause[i].format ? facts(cause[i].format) : NULL;
        if (list && *list)
            strbuf_addf(&b, "; %s %s", cause[i].there, list);
        break;
    }
    if (strstr(sentence, "option"))
        strbuf_add(&b, "; options after the job's file are passed to sbatch, see sbatch --help");
    return eddis_fail(err, -EINVAL, "Slurm rejected the job: \"%.160s\"%s",
                      *sentence ? sentence : "no reason given", strbuf_text(&b));
}
