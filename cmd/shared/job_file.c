/* SPDX-License-Identifier: Apache-2.0 */
/* job_file.c - reads a job's file and reports all mistakes in it */
#include "job_file.h"

#include "lib/base/program.h"
#include "lib/job/job_read.h"
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

int job_file_missing(const char *path, struct eddis_error *err)
{
    char asked[NAME_MAX + 128];

    program_meant(path, "name a job file, such as train.yaml", asked, sizeof asked);
    return eddis_fail(err, -ENOENT, "no file '%s'; %s", path, asked);
}

int job_file_read(const char *program, const char *path, struct job **ret, struct eddis_error *err)
{
    struct job_mistakes wrong;
    int rc;

    if (access(path, F_OK) < 0 && errno == ENOENT)
        return job_file_missing(path, err);
    rc = job_read_all(path, &wrong, ret, err);
    if (rc == 0 || (wrong.n == 1 && !wrong.more))
        return rc;
    for (int i = 0; i < wrong.n; i++) {
        eddis_fail(err, rc, "%s", wrong.text[i]);
        if (i < wrong.n - 1 || wrong.more)
            options_complain(program, err, stderr);
    }
    return wrong.more ? eddis_fail(err, rc, "'%s' has more mistakes than these %d", path, wrong.n)
                      : rc;
}
