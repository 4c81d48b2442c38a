/* SPDX-License-Identifier: Apache-2.0 */
/* run_cleanup.c - ends what a dead job left on its hosts, and prints a line for each */
#include "run_cleanup.h"

#include "agents/driver/start/job_cleanup.h"
#include "cmd/run_find.h"

#include <stdio.h>
#include <string.h>

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

int run_cleanup(const char *job, bool quiet, struct eddis_error *err)
{
    struct job_folder folder;
    int rc = run_find_job("--cleanup", job, &folder, err);

    return rc < 0 ? rc : job_cleanup(&folder, on_host, &quiet, err);
}
