/* SPDX-License-Identifier: Apache-2.0 */
/* run_far.c - ends jobs of Slurm's in its queue, and on nodes other than this */
#include "run_far.h"

#include "cmd/run_find.h"
#include "cmd/slurm/slurm_task.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int find_stop(const char *word, struct job_folder *ret, struct eddis_error *err)
{
    return run_find_job("--stop", word, ret, err);
}

static int find_cleanup(const char *word, struct job_folder *ret, struct eddis_error *err)
{
    return run_find_job("--cleanup", word, ret, err);
}

int run_far_find(const char *option, const char *word, struct job_place *ret,
                 struct eddis_error *err)
{
    return job_place_find(word, strcmp(option, "--stop") == 0 ? find_stop : find_cleanup, ret, err);
}

static void pass(void *ctx, const char *bytes, size_t n)
{
    (void)ctx;
    (void)fwrite(bytes, 1, n, stdout);
    (void)fflush(stdout);
}

/* How long it takes depends on the job's own times, which its eddis-run knows. */
int run_far(const struct job_place *p, const char *option, bool json, bool quiet,
            struct eddis_error *err)
{
    const char *words[] = { "eddis-run", option, p->far, NULL, NULL, NULL };
    int n = 3;

    if (json)
        words[n++] = "--json";
    if (quiet)
        words[n++] = "--quiet";
    return slurm_door_run(&p->door, words, CLOCK_NEVER, pass, NULL, err);
}

int run_far_withdraw(const struct job_place *p, bool json, bool quiet, struct eddis_error *err)
{
    struct slurm_job j;
    int rc = slurm_task_withdraw(p->number, err);

    if (rc < 0)
        return rc;
    rc = slurm_task_ask(p->number, &j, err);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    if (rc == 0 && slurm_job_waits(&j))
        return eddis_fail(err, -EIO, "%s, and Slurm does not cancel it", p->text);
    if (rc == 0 && !slurm_job_is_over(&j))
        return 0;
    if (json)
        printf("{\"slurm_job\": \"%s\", \"cancelled\": true}\n", p->number);
    else if (!quiet)
        printf("Slurm's job %s was waiting in the queue and is cancelled\n", p->number);
    return 1;
}

int run_far_stopped(const struct job_place *p, bool json, bool quiet, struct eddis_error *err)
{
    int64_t end_ns = clock_now_ns() + 60 * CLOCK_S;
    struct slurm_job j;
    int rc;

    for (;;) {
        rc = slurm_task_ask(p->door.name, &j, err);
        if (rc == -ENOENT || (rc == 0 && slurm_job_is_over(&j)))
            break;
        if (rc < 0)
            return rc;
        if (clock_now_ns() >= end_ns)
            return eddis_fail(err, -ETIMEDOUT,
                              "job %s was told to stop, but Slurm's job %s is still %s; look at it "
                              "by eddis-status %s",
                              p->far, p->door.name, j.state, p->door.name);
        clock_sleep_until_ns(clock_now_ns() + CLOCK_S / 4);
    }
    if (p->has_folder)
        return 0;
    if (json)
        printf("{\"slurm_job\": \"%s\", \"stopped\": true, \"exit_code\": %d}\n", p->door.name,
               rc == 0 ? slurm_job_code(&j) : -1);
    else if (!quiet && rc == 0)
        printf("Slurm's job %s was stopped and has ended with code %d; its folder is on %s\n",
               p->door.name, slurm_job_code(&j), p->door.node);
    else if (!quiet)
        printf("Slurm's job %s was stopped\n", p->door.name);
    return 1;
}
