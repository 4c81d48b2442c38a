/* SPDX-License-Identifier: Apache-2.0 */
/* host_cleanup.c - reach each host as for a start, and wait for the result of its cleanup */
#include "host_cleanup.h"

#include "lib/base/clock.h"
#include "lib/base/strlist.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

static const int64_t kill_ns = 5 * CLOCK_S; /* time limit for killing what was started here */

/* Queue the cleanup of host i in s.  Return 0 or a negative error. */
static int add(struct starter *s, const struct host_cleanup *c, int i, struct eddis_error *err)
{
    /* later hosts have to wait for the first START_LOGINS */
    int64_t wait_ns = c->node_ns * (int64_t)(1 + i / START_LOGINS);
    int64_t end_ns = clock_after_ns(clock_now_ns(), wait_ns);
    struct strlist args = { 0 };
    int rc;

    strlist_addf(&args, "--cleanup");
    strlist_addf(&args, "%s", c->job_id);
    strlist_add_all(&args, c->mark[i]);
    rc = args.failed ? eddis_fail(err, -ENOMEM, "no memory to clean up")
                     : starter_add(s, i, (const char *const *)args.item, NULL,
                                   end_ns < c->deadline_ns ? end_ns : c->deadline_ns, err);
    strlist_fini(&args);
    return rc;
}

/* Return HOST_CLEAN, HOST_LEFT or HOST_UNSEEN for the event that ended a host's cleanup. */
static enum host_cleanup_result result_of(const struct start_event *e)
{
    if (e->type == START_ENDED && e->code == 0)
        return HOST_CLEAN;
    return e->type == START_ENDED && e->code == START_KEEPER_FAILED ? HOST_LEFT : HOST_UNSEEN;
}

/* Report the result of one host by c->say.  Return whether the host is clean. */
static bool take_event(const struct starter *s, const struct start_event *e,
                       const struct host_cleanup *c)
{
    enum host_cleanup_result result = result_of(e);
    const char *words = starter_words(s, e->host);
    char late[640];

    (void)snprintf(late, sizeof late, "not reached in time: %s", words);
    c->say(c->ctx, e->host, starter_host(s, e->host), result,
           result != HOST_UNSEEN   ? words
           : e->type == START_LATE ? late
                                   : e->text);
    return result == HOST_CLEAN;
}

/* Wait until all hosts have a result, and report each; if c->stop becomes readable, end those that
 * wait.  Return the number of hosts that are not clean.  Blocks.
 */
static int run(struct starter *s, const struct host_cleanup *c)
{
    struct pollfd fd[] = { { .fd = starter_fd(s), .events = POLLIN },
                           { .fd = c->stop, .events = POLLIN } };
    int over = 0, bad = 0;

    starter_turn(s, clock_now_ns());
    for (;;) {
        struct start_event e;

        for (; starter_event(s, &e); over++)
            bad += !take_event(s, &e, c);
        if (over == c->start.n)
            return bad;
        (void)poll(fd, 2, clock_poll_ms(starter_next_ns(s)));
        starter_turn(s, fd[1].revents ? CLOCK_NEVER : clock_now_ns());
    }
}

int host_cleanup(const struct host_cleanup *c, struct eddis_error *err)
{
    struct starter *s = NULL;
    int rc = starter_open(&c->start, &s, err);

    for (int i = 0; rc == 0 && i < c->start.n; i++)
        rc = add(s, c, i, err);
    if (rc == 0)
        rc = run(s, c);
    if (s)
        (void)starter_clean(s, 0, clock_now_ns() + kill_ns, NULL);
    starter_close(s);
    return rc;
}
