/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - finds the folder of the running program and the others beside it */
#include "program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
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
