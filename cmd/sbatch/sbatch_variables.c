/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_variables.c - maps environment variables of sbatch to the options that they stand for */
#include "sbatch_variables.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 64, OPTIONS = 3 }; /* bytes for a variable's name; most options of a row */

static const char prefix[] = "SBATCH_";

/* Variables of sbatch that have another prefix. */
static const char *const others[] = { "SLURM_CLUSTERS", "SLURM_HINT" };

/* Variables whose option has a letter or another name than the variable, or that conflict with
 * further options. A variable that is not listed has the name of its option. Source: sbatch(1) of
 * Slurm 22.05 and later.
 */
static const struct row {
    const char *variable; /* name without its prefix */
    char letter;          /* 0: none */
    const char *option[OPTIONS];
} rows[] = {
    { "ACCOUNT", 'A', { "account" } },
    { "ARRAY_INX", 'a', { "array" } },
    { "BURST_BUFFER", 0, { "bb", "bbf" } },
    { "CLUSTERS", 'M', { "clusters", "cluster" } },
    { "CONSTRAINT", 'C', { "constraint" } },
    { "CONTAINER", 0, { "container" } },
    { "CORE_SPEC", 'S', { "core-spec", "thread-spec" } },
    { "CPU_FREQ_REQ", 0, { "cpu-freq" } },
    { "CPUS_PER_TASK", 'c', { "cpus-per-task" } },
    { "DISTRIBUTION", 'm', { "distribution" } },
    { "ERROR", 'e', { "error" } },
    { "EXCLUSIVE", 's', { "exclusive", "oversubscribe", "share" } },
    { "GPUS", 'G', { "gpus" } },
    { "GRES", 0, { "gres" } },
    { "INPUT", 'i', { "input" } },
    { "JOB_NAME", 'J', { "job-name" } },
    { "MEM_PER_CPU", 0, { "mem", "mem-per-cpu", "mem-per-gpu" } },
    { "MEM_PER_GPU", 0, { "mem", "mem-per-cpu", "mem-per-gpu" } },
    { "MEM_PER_NODE", 0, { "mem", "mem-per-cpu", "mem-per-gpu" } },
    { "NO_KILL", 'k', { "no-kill" } },
    { "NO_REQUEUE", 0, { "requeue", "no-requeue" } },
    { "OUTPUT", 'o', { "output" } },
    { "OVERCOMMIT", 'O', { "overcommit" } },
    { "PARTITION", 'p', { "partition" } },
    { "QOS", 'q', { "qos" } },
    { "REQUEUE", 0, { "requeue", "no-requeue" } },
    { "REQ_SWITCH", 0, { "switches" } },
    { "THREAD_SPEC", 'S', { "core-spec", "thread-spec" } },
    { "TIMELIMIT", 't', { "time" } },
    { "WAIT", 'W', { "wait" } },
    { "WAIT4SWITCH", 0, { "switches" } },
};

/* Check whether the first n bytes of a word are the full name of an option in the table. */
static bool is_whole_name(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < OPTIONS && rows[i].option[k]; k++)
            if (strlen(rows[i].option[k]) == n && strncmp(rows[i].option[k], word, n) == 0)
                return true;
    return false;
}

/* Check whether a word is the long option `option`, "--time", or an abbreviation of it that sbatch
 * accepts. The full name of another option is no abbreviation.
 */
static bool is_long(const char *word, const char *option)
{
    size_t n = strcspn(word + 2, "=");

    return n > 0 && strncmp(word + 2, option, n) == 0 &&
           (!option[n] || !is_whole_name(word + 2, n));
}

/* Check whether a word gives the option of this letter: "-p", "-pgpu", or after letters without a
 * value, "-Hp".
 */
static bool is_short(const char *word, char letter)
{
    static const char without[] = "hHIkOQsvVW";

    for (const char *c = word + 1; letter && *c; c++) {
        if (*c == letter)
            return true;
        if (!strchr(without, *c))
            return false;
    }
    return false;
}

/* Check whether a word gives one of the options in row r, by name or letter. */
static bool is_of(const char *word, const struct row *r)
{
    if (word[0] != '-' || !word[1])
        return false;
    if (word[1] != '-')
        return is_short(word, r->letter);
    for (size_t i = 0; i < OPTIONS && r->option[i]; i++)
        if (is_long(word, r->option[i]))
            return true;
    return false;
}

/* Borrow the part of a variable's name, which has n bytes, after its prefix. NULL: sbatch does not
 * read this variable.
 */
static const char *rest_of(const char *variable, size_t n)
{
    if (strncmp(variable, prefix, sizeof prefix - 1) == 0)
        return variable + sizeof prefix - 1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == n && strncmp(others[i], variable, n) == 0)
            return variable + strlen("SLURM_");
    return NULL;
}

bool sbatch_variables_named(char *const *words, const char *variable)
{
    size_t n = strcspn(variable, "=");
    const char *rest = rest_of(variable, n);
    char option[LONGEST] = "", *to = option;
    struct row r = { .option = { option } };

    if (!rest || n >= sizeof option)
        return false;
    n -= (size_t)(rest - variable);
    for (size_t i = 0; i < n; i++)
        *to++ = rest[i] == '_' ? '-' : (char)tolower((unsigned char)rest[i]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].variable) == n && strncmp(rows[i].variable, rest, n) == 0)
            r = rows[i];
    for (; n > 0 && words && *words; words++)
        if (is_of(*words, &r))
            return true;
    return false;
}

void sbatch_variables_drop(char *const *words)
{
    for (char **e = environ; *e;) {
        char name[LONGEST];
        size_t n = strcspn(*e, "=");

        if (n >= sizeof name || !sbatch_variables_named(words, *e)) {
            e++;
            continue;
        }
        memcpy(name, *e, n);
        name[n] = '\0';
        e += unsetenv(name) != 0; /* if it was removed, the next variable has moved to *e */
    }
}
