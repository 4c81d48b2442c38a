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

/* Check whether the path is an executable regular file. */
static bool is_program(const char *path)
{
    struct stat st;

    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* ---- what was meant ---- */

/* Add the names of a folder's regular files to the list, hidden ones excluded; if `programs`, only
 * executable ones.
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

/* Compare two strings by strcmp, for qsort. */
static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Write "did you mean ...?" to ret with `before` and the name nearest to `word`; if no name is
 * near, write `advice`.  Frees the list.
 */
static void ask(struct strlist *names, const char *before, size_t before_n, const char *word,
                const char *advice, char *ret, size_t size)
{
    const char *near = NULL;

    if (names->n) { /* readdir has no order; sort, so that the answer is stable */
        qsort(names->item, names->n, sizeof *names->item, compare_names);
        near = text_nearest(word, (const char *const *)names->item, names->n);
    }
    if (near)
        (void)snprintf(ret, size, "did you mean \"%.*s%s\"?", (int)before_n, before, near);
    else
        (void)snprintf(ret, size, "%s", advice);
    strlist_fini(names);
}

/* Write "did you mean ...?" or `advice` to ret, from the names in the folder of `path`.  `written`
 * is the path as the user wrote it.
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

/* Write "did you mean ...?" to ret from the programs in PATH (`path`) and in the folder `beside`
 * ("": none); if none is near, write how to install or name the program.
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

/* ---- a user's ---- */

enum { ASKED = NAME_MAX + 128 };

/* Return the path of `name` relative to `folder`, for the caller to free; NULL without memory. */
static char *path_of(const char *name, const char *folder)
{
    char *path = NULL;

    while (name[0] == '.' && name[1] == '/' && name[2]) /* so that messages read well */
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

/* Look for a file `name` in the folders of PATH (`path`); it must be executable if `program`.
 * Write its path to ret.  Return false if there is none.
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

/* Read the rest of a script's first line after "#!".  Return false if there is no such line. */
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

/* Return the program that env is to run, cut off in `words`; NULL: none, or env has options or
 * assignments.
 */
static const char *run_by_env(char *words)
{
    char *word = words + strspn(words, " \t");

    word[strcspn(word, " \t")] = '\0';
    return *word && *word != '-' && !strchr(word, '=') ? word : NULL;
}

/* Check that the interpreter of a script's "#!" line exists, since exec reports a missing one as if
 * the script were missing. env's program is looked up in PATH (`path`, NULL: unknown).
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

/* Check a program whose name contains a slash, relative to `folder`; `search` is the PATH for a
 * script's interpreter.
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

/* Interpreters and their one-letter options without argument.  After these, the first word is the
 * script.
 */
static const struct interpreter {
    const char *name, *flags;
    bool searches; /* also looks for a script in PATH */
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

/* Return the interpreter that a program is, by its name without a version ("/opt/bin/python3.11" is
 * python); NULL: none that we know.
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

/* Borrow the script's word of a command; NULL: there is none, or it has options that this function
 * cannot parse.
 */
static const char *script_of(char *const *word, const struct interpreter *i)
{
    for (word++; *word && **word == '-'; word++)
        if (!(*word)[1] || (*word)[1 + strspn(*word + 1, i->flags)])
            return NULL;
    return *word && **word == '+' ? NULL : *word; /* an option, too: "sh +e", "julia +1.10" */
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
