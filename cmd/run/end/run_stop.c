/* SPDX-License-Identifier: Apache-2.0 */
/* run_stop.c - asks a job's driver to end it, and waits until it has */
#include "run_stop.h"

#include "agents/job/driver_socket.h"
#include "agents/job/status_fetch.h"
#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/job/job_read.h"
#include "lib/model/job.h"

#include <errno.h>
#include <string.h>

static const int64_t ask_ns = 5 * CLOCK_S;    /* time limit of the driver's answer to the request */
static const int64_t look_ns = CLOCK_S / 10;  /* interval of checks whether the driver is gone */
static const int64_t extra_ns = 60 * CLOCK_S; /* wait for the end, beyond the job's own timeouts */

/* Ask the job's driver over its socket to stop the job. Block for its answer. Return 0: it has
 * accepted; -EPROTO: it has not; or another negative error.
 */
static int post(const struct job_driver *d, struct eddis_error *err)
{
    struct http_client *c = NULL;
    cleanup_free char *body = NULL;
    size_t n;
    int rc = driver_socket_dial(d, d->owner, &c, err);

    if (rc == 0)
        rc = http_client_call(c, "/v1/job/stop", "{}", ask_ns, &body, &n, err);
    http_client_close(c);
    if (rc < 0)
        return rc;
    return rc < 300 ? 0 : eddis_fail(err, -EPROTO, "the driver answered with HTTP status %d", rc);
}

/* Return how long to wait for the job to save a checkpoint and end, in ns: the timeouts in its
 * job.yaml and extra_ns; extra_ns alone if job.yaml cannot be read.
 */
static int64_t patience_ns(const struct job_folder *f)
{
    cleanup_free char *path = file_join(f->path, "job.yaml");
    struct job *job = NULL;
    int64_t ns = extra_ns;

    if (path && job_read(path, &job, NULL) == 0)
        ns = clock_after_ns(clock_after_ns(ns, job->timeouts.checkpoint_ns),
                            timing_stop_ns(job->timeouts.lease_ns, job->timeouts.grace_ns));
    job_free(job);
    return ns;
}

/* Block until the driver is gone. Return 0; -ETIMEDOUT after patience_ns(f). The driver writes the
 * summary, then removes driver.json, then exits: so the summary is there.
 */
static int wait_for_end(const struct job_folder *f, struct eddis_error *err)
{
    int64_t deadline_ns = clock_after_ns(clock_now_ns(), patience_ns(f));
    struct job_driver d;

    for (;;) {
        int rc = job_driver_read(f, &d, NULL);

        explicit_bzero(d.token, sizeof d.token);
        explicit_bzero(d.owner, sizeof d.owner);
        if (rc != 1)
            return 0;
        if (clock_now_ns() >= deadline_ns)
            return eddis_fail(err, -ETIMEDOUT,
                              "job %s was asked to stop but still runs (pid %d); kill that "
                              "process, and the workers end within the job's lease",
                              f->id, (int)d.pid);
        clock_sleep_until_ns(clock_now_ns() + look_ns);
    }
}

int run_stop(const struct job_folder *f, bool dead, struct job_status *ret, struct eddis_error *err)
{
    struct job_driver d;
    int rc = 0, was = dead ? 0 : job_driver_read(f, &d, err);

    if (was == 1)
        rc = post(&d, err);
    explicit_bzero(&d, sizeof d);
    if (was < 0 && was != -ENOENT)
        return was;
    if (rc < 0 && job_driver_check(f, NULL) == 1)
        return eddis_fail_prefix(err, rc, "cannot stop job %s", f->id);
    if (was == 1)
        rc = wait_for_end(f, err);
    if (rc == 0)
        rc = dead ? status_from_files(f, ret, err) : status_fetch(f, ret, err);
    return rc < 0 ? rc : was == 1;
}

const char *run_stop_words(int rc, const struct job_status *s)
{
    if (rc == 1)
        return "was stopped";
    return s->state == JOB_LOST ? "cannot be stopped: its eddis-run has exited"
                                : "had already ended";
}
