/* SPDX-License-Identifier: Apache-2.0 */
/* job_cleanup.c - logs in to every node of a job and has its keeper end what is left */
#include "job_cleanup.h"

#include "start.h"

#include "agents/job/node_list.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strlist.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

static const int64_t node_ns = 60 * CLOCK_S;

static int add_all(struct starter *s, const struct node_list *j, struct eddis_error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < j->n; i++) {
        struct strlist args = { 0 };

        strlist_addf(&args, "--cleanup");
        strlist_addf(&args, "%s", j->job_id);
        strlist_add_all(&args, j->node[i].digits);
        /* Those behind the first logins have to wait for them. */
        rc = args.failed ? eddis_fail(err, -ENOMEM, "no memory to clean up")
                         : starter_add(s, (int)i, (const char *const *)args.item, NULL,
                                       clock_after_ns(clock_now_ns(),
                                                      node_ns * (int64_t)(1 + i / START_LOGINS)),
                                       err);
        strlist_fini(&args);
    }
    return rc;
}

static bool take_event(struct starter *s, const struct start_event *e, job_cleanup_say_fn say,
                       void *ctx)
{
    const char *words = starter_words(s, e->host);
    bool good = e->type == START_ENDED && e->code == 0;

    if (good || (e->type == START_ENDED && e->code == 1))
        say(ctx, starter_host(s, e->host), good, words);
    else
        say(ctx, starter_host(s, e->host), false, e->text);
    return good;
}

static int run(struct starter *s, size_t n, job_cleanup_say_fn say, void *ctx)
{
    struct pollfd fd = { .fd = starter_fd(s), .events = POLLIN };
    size_t over = 0;
    int bad = 0;

    starter_turn(s, clock_now_ns());
    while (over < n) {
        struct start_event e;

        while (starter_event(s, &e)) {
            over++;
            bad += !take_event(s, &e, say, ctx);
        }
        if (over == n)
            break;
        (void)poll(&fd, 1, clock_poll_ms(starter_next_ns(s)));
        starter_turn(s, clock_now_ns());
    }
    return bad;
}

int job_cleanup(const struct job_folder *f, job_cleanup_say_fn say, void *ctx,
                struct eddis_error *err)
{
    struct start_options o = { .launch_ns = node_ns };
    struct node_list *j = NULL;
    struct job_driver d;
    struct starter *s = NULL;
    cleanup_free struct job_host *host = NULL;
    int rc;

    rc = job_driver_read(f, &d, err);
    if (rc == -EREMOTE)
        return rc;
    if (rc == 1)
        return eddis_fail(err, -EBUSY, "job %s is running (pid %d); end it with --stop", f->id,
                          (int)d.pid);
    rc = node_list_read(f, &j, err);
    if (rc < 0)
        return rc;
    host = calloc(j->n, sizeof *host);
    for (size_t i = 0; host && i < j->n; i++)
        host[i] = j->node[i].host;
    o.host = host;
    o.n = (int)j->n;
    rc = host ? starter_open(&o, &s, err) : eddis_fail(err, -ENOMEM, "no memory to clean up");
    if (rc == 0)
        rc = add_all(s, j, err);
    if (rc == 0)
        rc = run(s, j->n, say, ctx);
    if (s)
        (void)starter_clean(s, 0, clock_now_ns() + 5 * CLOCK_S, NULL);
    starter_close(s);
    node_list_free(j);
    return rc;
}
