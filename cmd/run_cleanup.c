/* SPDX-License-Identifier: Apache-2.0 */
/* run_cleanup.c - ends what a dead job left on its hosts, and prints a line for each */
#include "run_cleanup.h"

#include "agents/driver/start/job_cleanup.h"
#include "cmd/run_find.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void on_host(void *ctx, int i, const char *host, enum host_cleanup_result result,
                    const char *text)
{
    const bool *quiet = ctx;
    /* A sentence about a login begins with the host already. */
    bool named = strncmp(text, host, strlen(host)) == 0 && text[strlen(host)] == ':';

    (void)i;
    if (result == HOST_CLEAN && !*quiet)
        printf("%s: %s\n", host, text);
    else if (result != HOST_CLEAN)
        fprintf(stderr, "eddis-run: %s%s%s\n", named ? "" : host, named ? "" : ": ", text);
}

/* What a driver that was killed has left of its own: its socket may not be in its folder. */
static void remove_own(const struct job_folder *f)
{
    static const char *const names[] = { JOB_DRIVER_FILE, JOB_RESERVE_FILE };
    struct job_driver d;
    int rc = job_driver_read(f, &d, NULL);

    explicit_bzero(d.token, sizeof d.token);
    explicit_bzero(d.owner, sizeof d.owner);
    if (rc != 0)
        return;
    if (*d.socket == '/')
        (void)unlink(d.socket);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *path = file_join(f->path, "%s", names[i]);

        if (path)
            (void)unlink(path);
    }
}

int run_cleanup(const char *job, bool quiet, struct eddis_error *err)
{
    struct job_folder folder;
    int rc = run_find_job("--cleanup", job, &folder, err);

    if (rc < 0)
        return rc;
    rc = job_cleanup(&folder, on_host, &quiet, err);
    if (rc == 0)
        remove_own(&folder);
    return rc;
}
