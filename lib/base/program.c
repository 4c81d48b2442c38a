/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - find eddis's own programs, and check the programs and scripts of a user's command */
#include "program.h"

#include "cleanup.h"
#include "strlist.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void program_outlive_file_limit(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
}

int program_folder(char *ret, size_t size, struct eddis_error *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n < 0)
        return eddis_fail_errno(err, -errno, "cannot find this program's own file");
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    if (snprintf(ret, size, "%s", self) >= (int)size)
        return eddis_fail(err, -ENAMETOOLONG, "path '%s' is too long", self);
    return 0;
}

int program_path(const char *name, char *ret, size_t size, struct eddis_error *err)
{
    /* In order: beside this program; helpers, seen from bin/ or from the build folder; programs,
     * seen from a helper's folder.
     */
    static const char *const places[] = { "", "../libexec/eddis/", "libexec/", "../",
                                          "../../bin/" };
    char folder[PATH_MAX];
    int rc = program_folder(folder, sizeof folder, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(ret, size, "%s/%s%s", folder, places[i], name) < (int)size &&
            access(ret, X_OK) == 0)
            return 0;
    return eddis_fail(err, -ENOENT,
                      "'%s' is not installed beside this program (searched from '%s'); run "
                      "'meson install' or use the whole build folder",
                      name, folder);
}

/* Check whether `path` is a regular file that this user may execute. */
static bool is_program(const char *path)
{
    struct stat st;

    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* ---- suggestions for a name that does not exist ---- */

/* Append the names of a folder's regular files to `names`, except hidden files and, if `programs`,
 * files that this user may not execute.
 */
static void add_names(struct strlist *names, const char *folder, bool programs)
{
    cleanup_dir DIR *d = opendir(folder);
    const struct dirent *e;

    while (d && (e = readdir(d))) {
        struct stat st;

        if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, 0) < 0 ||
            !S_ISREG(st.st_mode) || (programs && faccessat(dirfd(d), e->d_name, X_OK, 0) < 0))
            continue;
        strlist_addf(names, "%s", e->d_name);
    }
}

/* Write "did you mean ...?" to ret [size], with the name in `names` that is nearest to `word`,
 * preceded by the first before_n bytes of `before`.  If no name is near, write `advice`.  Sort and
 * free the list.
 */
static void ask(struct strlist *names, const char *before, size_t before_n, const char *word,
                const char *advice, char *ret, size_t size)
{
    const char *near;

    strlist_sort(names); /* readdir has no order, but the answer shall be stable */
    near = text_nearest(word, (const char *const *)names->item, names->n);
    if (near)
        (void)snprintf(ret, size, "did you mean \"%.*s%s\"?", (int)before_n, before, near);
    else
        (void)snprintf(ret, size, "%s", advice);
    strlist_fini(names);
}

/* Write "did you mean ...?" to ret [size], with the name nearest to that of `path` among the files
 * of its folder; if no name is near, write `advice`.  `path` contains a slash; `written` is the
 * same path as the user wrote it.
 */
static void ask_beside(const char *path, const char *written, const char *advice, char *ret,
                       size_t size)
{
    struct strlist names = { 0 };
    const char *word = strrchr(written, '/'), *end = strrchr(path, '/');
    cleanup_free char *folder = strndup(path, (size_t)(end - path) + 1);

    word = word ? word + 1 : written;
    if (folder)
        add_names(&names, folder, false);
    ask(&names, written, (size_t)(word - written), word, advice, ret, size);
}

/* Write "did you mean ...?" to ret [size], with the nearest name of a program in the folders that
 * `path` lists, a value of PATH, and in the folder `beside` ("": none).  If no name is near, write
 * the advice to install the program or to write its path.
 */
static void ask_path(const char *name, const char *path, const char *beside, char *ret, size_t size)
{
    struct strlist names = { 0 };
    char advice[NAME_MAX + 64], at[PATH_MAX];

    for (const char *p = path; *p;) {
        size_t n = strcspn(p, ":");

        if (n && snprintf(at, sizeof at, "%.*s", (int)n, p) < (int)sizeof at)
            add_names(&names, at, true);
        p += n + (p[n] == ':');
    }
    if (*beside)
        add_names(&names, beside, true);
    (void)snprintf(advice, sizeof advice, "install it, or write its path as in ./%s", name);
    ask(&names, "", 0, name, advice, ret, size);
}

/* ---- files of a user's command ---- */

enum { ASKED = NAME_MAX + 128 }; /* size of the text with a suggestion */

/* Return `name` if it is an absolute path, else folder/name, for the caller to free.  NULL without
 * memory.
 */
static char *path_of(const char *name, const char *folder)
{
    char *path = NULL;

    while (name[0] == '.' && name[1] == '/' && name[2]) /* messages need no "./" after a folder */
        name += 2;
    return asprintf(&path, "%s%s%s", name[0] == '/' ? "" : folder, name[0] == '/' ? "" : "/",
                    name) < 0
               ? NULL
               : path;
}

void program_meant(const char *path, const char *advice, char *ret, size_t size)
{
    cleanup_free char *full = path_of(path, ".");

    if (full)
        ask_beside(full, path, advice, ret, size);
    else
        (void)snprintf(ret, size, "%s", advice);
}

/* Search the folders that `path` lists, a value of PATH, for a file `name`, which must be a program
 * if `program` is set.  Write its path to ret.  Return false if no folder has such a file.
 */
static bool in_path(const char *name, const char *path, bool program, char ret[PATH_MAX])
{
    while (*path) {
        size_t n = strcspn(path, ":");

        if (n && snprintf(ret, PATH_MAX, "%.*s/%s", (int)n, path, name) < PATH_MAX &&
            (program ? is_program(ret) : access(ret, F_OK) == 0))
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

/* ---- the first line of a script that is a program ---- */

/* Read the first line of the file `path`, and write what follows "#!" to ret.  Return false if the
 * file cannot be read or does not begin with "#!".
 */
static bool read_first_line(const char *path, char ret[PATH_MAX])
{
    cleanup_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, PATH_MAX - 1);

    if (n < 2 || ret[0] != '#' || ret[1] != '!')
        return false;
    ret[n] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    memmove(ret, ret + 2, strlen(ret + 2) + 1);
    return true;
}

/* Return the first of the words after "/usr/bin/env", the program that env runs; it is borrowed
 * from `words`, which is cut off after it.  NULL: there is no word, or the first is an option or an
 * assignment.
 */
static const char *run_by_env(char *words)
{
    char *word = words + strspn(words, " \t");

    word[strcspn(word, " \t")] = '\0';
    return *word && *word != '-' && !strchr(word, '=') ? word : NULL;
}

/* Check that the interpreter in the first line of the script `file` exists: if it does not, exec
 * reports the script as missing.  For "/usr/bin/env NAME", search `path`, a value of PATH, for
 * NAME; path NULL: no search.  Return 0, also if `file` is no script; -ENOENT if there is no
 * interpreter; -ENOEXEC if the script's lines end in CRLF.
 */
static int check_interpreter(const char *file, const char *path, struct eddis_error *err)
{
    char line[PATH_MAX], at[PATH_MAX], *name, *rest;
    const char *run;

    if (!read_first_line(file, line))
        return 0;
    name = line + strspn(line, " \t");
    if (strchr(name, '\r'))
        return eddis_fail(err, -ENOEXEC,
                          "'%s' cannot run because its lines end in CRLF, as on Windows; convert "
                          "it, for example with sed -i 's/\\r$//' %s",
                          file, file);
    rest = name + strcspn(name, " \t");
    if (*rest)
        *rest++ = '\0';
    if (*name == '/' && access(name, F_OK) < 0 && errno == ENOENT)
        return eddis_fail(err, -ENOENT,
                          "'%s' cannot run because the interpreter '%s' in its first line does not "
                          "exist; install it, or correct that line",
                          file, name);
    run = strcmp(name, "/usr/bin/env") == 0 ? run_by_env(rest) : NULL;
    if (run && path && !strchr(run, '/') && !in_path(run, path, true, at))
        return eddis_fail(err, -ENOENT,
                          "'%s' cannot run because the interpreter '%s' in its first line is not "
                          "in PATH; install it, or correct that line",
                          file, run);
    return 0;
}

/* ---- a program ---- */

/* Check a program whose name contains a slash and is relative to `folder`; `search` is the PATH for
 * a script's interpreter.  Return 0, -ENOENT if the program or its interpreter is missing, -EACCES
 * if it is not executable, or another negative errno value.
 */
static int check_with_slash(const char *folder, const char *name, const char *search,
                            struct eddis_error *err)
{
    cleanup_free char *path = path_of(name, folder);
    char asked[ASKED];

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    if (access(path, F_OK) < 0) {
        int rc = -errno;

        ask_beside(path, name, "build it first, or correct the command", asked, sizeof asked);
        return eddis_fail(err, rc, "no program '%s'; %s", path, asked);
    }
    if (!is_program(path))
        return eddis_fail(err, -EACCES, "'%s' is not an executable program", path);
    return check_interpreter(path, search, err);
}

int program_check(const char *name, const char *folder, const char *path, const char *beside,
                  struct eddis_error *err)
{
    char asked[ASKED], at[PATH_MAX];

    if (strchr(name, '/'))
        return check_with_slash(folder, name, path, err);
    if (in_path(name, path, true, at) || (*beside && in_path(name, beside, true, at)))
        return check_interpreter(at, path, err);
    ask_path(name, path, beside, asked, sizeof asked);
    return eddis_fail(err, -ENOENT, "no program '%s' in PATH; %s", name, asked);
}

/* ---- a script's ---- */

/* The interpreters that program_check_script knows, and their one-letter options that have no
 * argument.  The first word after such options is the script.
 */
static const struct interpreter {
    const char *name, *flags;
    bool searches; /* the interpreter also searches PATH for a script */
} interpreters[] = {
    { "python", "bBdEiIOPqsSuvx", false },
    { "sh", "eux", true },
    { "bash", "eux", true },
    { "dash", "eux", true },
    { "perl", "tTwW", false },
    { "ruby", "w", false },
    { "Rscript", "", false },
    { "julia", "", false },
};

/* Return the row of `interpreters` for a program, by the program's name without a version
 * ("/opt/bin/python3.11" is python); NULL: there is none.
 */
static const struct interpreter *interpreter_of(const char *program)
{
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++) {
        size_t n = strlen(interpreters[i].name);

        if (strncmp(name, interpreters[i].name, n) == 0 &&
            !name[n + strspn(name + n, "0123456789.")])
            return &interpreters[i];
    }
    return NULL;
}

/* Borrow the word of a command of interpreter i that names the script.  NULL: there is none, or the
 * command has options that are not in i->flags.
 */
static const char *script_of(char *const *word, const struct interpreter *i)
{
    for (word++; *word && **word == '-'; word++)
        if (!(*word)[1] || (*word)[1 + strspn(*word + 1, i->flags)])
            return NULL;
    return *word && **word == '+' ? NULL : *word; /* '+' begins an option too: "sh +e" */
}

int program_check_script(char *const *command, const char *folder, const char *path,
                         struct eddis_error *err)
{
    const struct interpreter *i = interpreter_of(command[0]);
    const char *name = i ? script_of(command, i) : NULL, *slash = strrchr(command[0], '/');
    cleanup_free char *full = name && *name ? path_of(name, folder) : NULL;
    char asked[ASKED], at[PATH_MAX];

    if (!full || access(full, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR) ||
        (i->searches && !strchr(name, '/') && in_path(name, path, false, at)))
        return 0;
    ask_beside(full, name, "correct the command", asked, sizeof asked);
    return eddis_fail(err, -ENOENT, "no script '%s' for %s%s%s; %s", name,
                      slash ? slash + 1 : command[0], name[0] == '/' ? "" : " in ",
                      name[0] == '/' ? "" : folder, asked);
}

/* ---- Python ---- */

bool program_is_python(const char *program)
{
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

    if (strncmp(name, "pypy", 4) != 0 && strncmp(name, "python", 6) != 0)
        return false;
    name += name[2] == 'p' ? 4 : 6;
    return !name[strspn(name, "0123456789.")];
}

int program_check_python(const char *python, const char *from, struct eddis_error *err)
{
    if (is_program(python))
        return 0;
    if (access(python, F_OK) == 0)
        return eddis_fail(err, -EACCES,
                          "%s: \"python\" of this node is '%s', which is not an executable "
                          "program; correct it",
                          from, python);
    return eddis_fail(err, -ENOENT,
                      "%s: \"python\" of this node is '%s', which does not exist there; install "
                      "it, or correct the path",
                      from, python);
}
