/* SPDX-License-Identifier: Apache-2.0 */
/* other_launcher.c - the table of other launchers, and the command that their users mean */
#include "other_launcher.h"

#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

/* One launcher: the name of its program or, with `python -m`, of its module. */
struct row {
    const char *name;
    const char *second; /* first argument that makes the program a launcher; NULL: any */
    bool module, never;
    const char *besides;
};

#define ACCELERATE "or give accelerate --num_processes 1"

static const struct row rows[] = {
    { "torchrun", NULL, false, false, "" },
    { "torch.distributed.run", NULL, true, false, "" },
    { "torch.distributed.launch", NULL, true, false, "" },
    { "accelerate", "launch", false, false, ACCELERATE },
    { "accelerate-launch", NULL, false, false, ACCELERATE },
    { "accelerate.commands.launch", NULL, true, false, ACCELERATE },
    { "deepspeed", NULL, false, false, "" },
    { "deepspeed.launcher.runner", NULL, true, false, "" },
    { "fabric", "run", false, false, "" },
    { "composer", NULL, false, false, "" },
    { "horovodrun", NULL, false, false, "" },
    { "mpirun", NULL, false, true, "" },
    { "orterun", NULL, false, true, "" },
    { "prterun", NULL, false, true, "" },
    { "mpiexec", NULL, false, false, "" },
    { "srun", NULL, false, false, "" },
};

/* Borrow the last part of a path. */
static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Check whether a word ends with these letters. */
static bool ends(const char *word, const char *end)
{
    size_t n = strlen(word), m = strlen(end);

    return n >= m && strcmp(word + n - m, end) == 0;
}

/* Return the number of the command's words that name the launcher of this row; 0: it is another
 * command.
 */
static int words_of(const struct row *r, char *const *command)
{
    if (!r->module)
        return strcmp(base(command[0]), r->name) != 0             ? 0
               : !r->second                                       ? 1
               : command[1] && strcmp(command[1], r->second) == 0 ? 2
                                                                  : 0;
    if (strncmp(base(command[0]), "python", 6) != 0)
        return 0;
    for (int i = 1; command[i] && command[i][0] == '-'; i++) { /* options of Python, as -u */
        if (strcmp(command[i], "-m") == 0)
            return command[i + 1] && strcmp(command[i + 1], r->name) == 0 ? i + 2 : 0;
        i += (strcmp(command[i], "-W") == 0 || strcmp(command[i], "-X") == 0) && command[i + 1];
    }
    return 0;
}

/* Check whether accelerate is told to start one process, which keeps the worker's variables. */
static bool starts_one(char *const *word)
{
    for (; *word && !ends(*word, ".py"); word++) {
        bool is = strcmp(*word, "--num_processes") == 0 || strcmp(*word, "--num-processes") == 0;

        if (strcmp(*word, "--num_processes=1") == 0 || strcmp(*word, "--num-processes=1") == 0 ||
            (is && word[1] && strcmp(word[1], "1") == 0))
            return true;
    }
    return false;
}

/* Write the Python to use in place of a launcher: that of a module itself, else "python3" beside a
 * launcher that is a path.
 */
static void write_python(const struct row *r, const char *program, char *ret, size_t size)
{
    if (r->module)
        (void)snprintf(ret, size, "%s", program);
    else
        (void)snprintf(ret, size, "%.*spython3", (int)(base(program) - program), program);
}

/* Write to ret the command that the user means: a Python and the script or module among the
 * launcher's arguments `word`; "": none is found. A further argument is shown as "...".
 */
static void write_instead(const struct row *r, const char *program, char *const *word, char *ret,
                          size_t size)
{
    char python[96];
    bool module = false;
    int i = 0;

    ret[0] = '\0';
    write_python(r, program, python, sizeof python);
    for (; word[i] && !ends(word[i], ".py"); i++) {
        module = module || strcmp(word[i], "-m") == 0 || strcmp(word[i], "--module") == 0;
        if (module && word[i][0] != '-')
            break;
    }
    if (word[i])
        (void)snprintf(ret, size, "%.80s %s%.60s%s", python, module ? "-m " : "", word[i],
                       word[i + 1] ? " ..." : "");
}

bool other_launcher_find(char *const *command, struct other_launcher *ret)
{
    const struct row *r = NULL;
    int n = 0;

    for (size_t i = 0; n == 0 && i < sizeof rows / sizeof *rows; i++) {
        r = &rows[i];
        n = words_of(r, command);
    }
    if (n == 0 || (r->besides[0] && starts_one(command + n)))
        return false;
    *ret = (struct other_launcher){ .besides = r->besides, .never = r->never };
    for (int i = 0; i < n; i++)
        text_append(ret->words, sizeof ret->words, "%s%s", i ? " " : "", command[i]);
    write_instead(r, command[0], command + n, ret->instead, sizeof ret->instead);
    return true;
}
