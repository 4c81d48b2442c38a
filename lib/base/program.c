/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - finds the folder of the running program, the others beside it, and a user's */
#include "program.h"

#include "cleanup.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    /* Beside us; helpers from bin/ or from the build folder; programs from a helper's folder. */
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
                      "'%s' is not installed beside this program (looked from '%s'); run "
                      "'meson install' or use the whole build folder",
                      name, folder);
}

/* ---- a user's ---- */

static bool is_program(const char *path)
{
    struct stat st;

    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int check_with_slash(const char *dir, const char *name, struct eddis_error *err)
{
    cleanup_free char *path = NULL;

    while (name[0] == '.' && name[1] == '/' && name[2]) /* for the sentence */
        name += 2;
    if (asprintf(&path, "%s%s%s", name[0] == '/' ? "" : dir, name[0] == '/' ? "" : "/", name) < 0)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    if (access(path, F_OK) < 0)
        return eddis_fail(err, -errno, "no program '%s'; build it first, or correct the command",
                          path);
    if (!is_program(path))
        return eddis_fail(err, -EACCES, "'%s' is no program that may be executed", path);
    return 0;
}

int program_check(const char *name, const char *folder, const char *path, const char *beside,
                  struct eddis_error *err)
{
    char at[PATH_MAX];

    if (strchr(name, '/'))
        return check_with_slash(folder, name, err);
    while (*path) {
        size_t n = strcspn(path, ":");

        if (n && snprintf(at, sizeof at, "%.*s/%s", (int)n, path, name) < (int)sizeof at &&
            is_program(at))
            return 0;
        path += n + (path[n] == ':');
    }
    if (*beside && snprintf(at, sizeof at, "%s/%s", beside, name) < (int)sizeof at &&
        is_program(at))
        return 0;
    return eddis_fail(err, -ENOENT,
                      "no program '%s' in PATH; install it, or write its path as in ./%s", name,
                      name);
}
