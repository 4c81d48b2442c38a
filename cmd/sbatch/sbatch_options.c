/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_options.c - finds, checks and writes options of sbatch */
#include "sbatch_options.h"

#include <errno.h>
#include <string.h>

/* Check whether a word is an option: it begins with '-' and is longer than that. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

/* Check whether a word is ":", which begins the options of the job's next component. */
static bool is_next(const char *word)
{
    return strcmp(word, ":") == 0;
}

int sbatch_options_no_gpus_per_task(const char *word, struct eddis_error *err)
{
    return eddis_fail(
        err, -EINVAL,
        "%s hides the other GPUs of a node from each task, and eddis starts one task on each node; "
        "request GPUs for each node instead: slurm.gres: \"gpu:4\", or --gres=gpu:4",
        word);
}

/* Return -EINVAL for an option that eddis's script cannot have, else 0. Only the option's beginning
 * is compared, since sbatch accepts abbreviations.
 */
static int check_option(const char *word, struct eddis_error *err)
{
    if (strncmp(word, "--gpus-per-t", 12) == 0 || strncmp(word, "--ntasks-per-g", 14) == 0)
        return sbatch_options_no_gpus_per_task(word, err);
    if (strncmp(word, "--wrap", 6) == 0)
        return eddis_fail(err, -EINVAL,
                          "--wrap replaces the script, but eddis-sbatch writes the script itself; "
                          "name the program as \"command\" in the job's file");
    return 0;
}

int sbatch_options_check(char *const *words, size_t components, struct eddis_error *err)
{
    bool value = false; /* this word may be the value of the option before it */
    size_t at = 1;
    int rc = 0;

    for (; words && *words && rc == 0; words++) {
        for (const char *c = *words; *c; c++)
            if ((unsigned char)*c < ' ' || *c == 0x7f)
                return eddis_fail(err, -EINVAL, "an option of sbatch has a control character");
        if (is_option(*words))
            rc = check_option(*words, err);
        else if (is_next(*words) && ++at > components)
            rc = eddis_fail(
                err, -EINVAL,
                "\":\" begins the options of the next component, but slurm.components has no more");
        else if (!value && !is_next(*words))
            rc = eddis_fail(err, -EINVAL,
                            "\"%.100s\" is not an option of sbatch; name only one job file, and "
                            "write options of eddis-run as keys in it",
                            *words);
        /* "--name=value" and "-N4" contain their value; only sbatch knows if "--name" takes one. */
        value = is_option(*words) && !strchr(*words, '=') && ((*words)[1] == '-' || !(*words)[2]);
    }
    return rc;
}

/* Check whether a word gives the option of this name, as "--name" or "--name=value", or by its
 * letter, as "-N" or "-N4" (0: it has none).
 */
static bool is_named(const char *word, const char *name, char letter)
{
    size_t n = strlen(name);

    if (!is_option(word))
        return false;
    if (word[1] != '-')
        return letter && word[1] == letter;
    return strncmp(word + 2, name, n) == 0 && (!word[2 + n] || word[2 + n] == '=');
}

bool sbatch_options_have(char *const *words, const char *name, char letter)
{
    for (; words && *words; words++)
        if (is_named(*words, name, letter))
            return true;
    return false;
}

/* Return a pointer to the first word of a component (from 0) in `words`, borrowed. Components end
 * at ":" and at the end of the list; if there are fewer, return a pointer to the list's final NULL.
 * NULL if `words` is NULL.
 */
static char *const *begin(char *const *words, size_t component)
{
    for (; words && *words && component > 0; words++)
        component -= is_next(*words);
    return words;
}

/* Check whether `words` points to a word of the current component: neither ":" nor the end of the
 * list.
 */
static bool goes_on(char *const *words)
{
    return words && *words && !is_next(*words);
}

const char *sbatch_options_value(char *const *words, size_t component, const char *name,
                                 char letter)
{
    const char *found = NULL;

    for (words = begin(words, component); goes_on(words); words++) {
        const char *equals = strchr(*words, '=');

        if (!is_named(*words, name, letter))
            continue;
        if ((*words)[1] != '-' && (*words)[2])
            found = *words + 2;
        else if ((*words)[1] == '-' && equals)
            found = equals + 1;
        else
            found = goes_on(words + 1) ? words[1] : found;
    }
    return found;
}

bool sbatch_options_have_share(char *const *words, size_t component)
{
    static const struct {
        const char *name;
        char letter;
    } row[] = {
        { "exclusive", 0 },
        { "cpus-per-task", 'c' },
        { "ntasks", 'n' },
        { "oversubscribe", 's' },
        { "gres", 0 },
        { "gpus", 'G' },
        { "gpus-per-node", 0 },
        { "cpus-per-gpu", 0 },
        { "ntasks-per-node", 0 },
        { "mincpus", 0 },
        { "gpus-per-socket", 0 },
        { "ntasks-per-socket", 0 },
    };

    for (words = begin(words, component); goes_on(words); words++)
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
            if (is_named(*words, row[i].name, row[i].letter))
                return true;
    return false;
}

/* Append a blank and a word to a "#SBATCH" line. The word is quoted if needed: sbatch ends such a
 * line at '#' and removes quotes.
 */
static void add_word(const char *word, struct strbuf *b)
{
    bool plain = *word && !strpbrk(word, " \t\"'\\#");

    strbuf_add(b, plain ? " " : " \"");
    for (const char *c = word; *c; c++)
        strbuf_addf(b, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
    strbuf_add(b, plain ? "" : "\"");
}

void sbatch_options_add(char *const *words, size_t component, struct strbuf *b)
{
    bool open = false; /* a line has begun */

    for (words = begin(words, component); goes_on(words); words++) {
        if (is_option(*words) || !open)
            strbuf_add(b, open ? "\n#SBATCH" : "#SBATCH");
        add_word(*words, b);
        open = true;
    }
    strbuf_add(b, open ? "\n" : "");
}
