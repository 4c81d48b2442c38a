/* SPDX-License-Identifier: Apache-2.0 */
/* agent_events.c - handles events of a node's ranks, mpirun and probe, and reports to the driver */
#include "agent_impl.h"

#include "agents/protocol/parts.h"
#include "agents/protocol/protocol_relay.h"
#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/process_fd.h"
#include "lib/base/proctree.h"
#include "lib/model/choice_json.h"
#include "lib/model/network_check_json.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- ranks ---- */

/* Log and report that a rank's program has started, and watch its wrapper.  If a stop is already
 * under way, send the wrapper SIGTERM.
 */
static void rank_started(struct agent *a, const struct worker *w, const struct rank_message *m)
{
    struct event e = {
        .type = EVENT_RANK_STARTED, .generation = m->generation, .rank = w->rank, .pid = m->pid
    };

    node_log_say(a->event_sender.log, "rank %d started, pid %d under %d", w->rank, m->pid,
                 m->wrapper);
    (void)agent_watch_fd(a, w->pidfd);
    event_sender_send(&a->event_sender, &e, m->at_ns);
    if (a->stop.active && w->pidfd >= 0) /* it started after the stop signal was sent */
        (void)process_fd_signal(w->pidfd, w->wrapper, SIGTERM);
}

/* Report what a rank of the network's probe has printed, in as many events as needed: the measured
 * network, or the ranks that did not answer.  Report nothing if it has printed nothing.
 */
static void network_measured(struct agent *a, const struct worker *w)
{
    cleanup_free char *text = generation_network(a->generation, w->rank);

    for (const char *at = text; at && *at;) {
        struct event e = { .type = EVENT_NETWORK,
                           .generation = a->generation->number,
                           .rank = w->rank };
        cleanup_free char *part = parts_cut(&at, &e.more_bytes);

        if (!part)
            return; /* the driver reports that the probe ended without a result */
        e.text = part;
        event_sender_send(&a->event_sender, &e, clock_now_ns());
    }
}

/* Set w->ending of ranks whose program is ending although its end was not reported yet: such a rank
 * may be the cause of another rank's failure.  The kernel frees a killed program's memory before
 * its wrapper can reap it.
 */
static void see_who_ends(const struct agent *a)
{
    for (int i = 0; i < a->generation->n; i++) {
        struct worker *w = &a->generation->worker[i];

        w->ending = w->ending || (!w->ended && w->pid > 0 && proctree_ending(w->pid));
    }
}

/* Shared memory that Open MPI uses per rank of a node. */
#define SHM_BYTES INT64_C(4194312)

/* Check whether the node may have too little shared memory for MPI between its ranks. */
static bool may_lack_shm(const struct generation *g)
{
    return g->n > 1 && g->shm_free >= 0 && g->shm_free < g->n * SHM_BYTES;
}

/* Write to ret [size] the sentence that the file system of shared memory is too small for MPI. */
static void write_shm_lack(const struct generation *g, char *ret, size_t size)
{
    snprintf(ret, size,
             "'%.*s' has only %.1f MB free, but MPI needs %.1f MB for each rank of a node; make it "
             "larger, for example with docker run --shm-size=1g",
             (int)(strrchr(g->folders.shm, '/') - g->folders.shm), g->folders.shm,
             (double)g->shm_free / 1e6, SHM_BYTES / 1e6);
}

/* Write to ret [size] a sentence that may explain a rank's end besides its code and signal; "":
 * nothing is known.
 */
static void beside_end(const struct generation *g, const struct rank_message *m, char *ret,
                       size_t size)
{
    ret[0] = '\0';
    if (m->kind != RANK_ENDED)
        snprintf(
            ret, size,
            "eddis-rank (pid %d), the eddis process that ran it, had died and reported nothing",
            (int)m->wrapper);
    else if (m->lacked_ns > 0 && !m->oom)
        snprintf(ret, size,
                 "%.1f s before, the kernel had killed another process of its control group for "
                 "lack of memory",
                 (double)m->lacked_ns / CLOCK_S);
    else if (may_lack_shm(g) && m->code > 0 && !m->lines[0]) /* its program printed no error */
        write_shm_lack(g, ret, size);
}

/* Record and report a rank's end, with its cause, its last output and write errors of its log. m:
 * the wrapper's message, or one made for a wrapper that has died.
 */
static void rank_ended(struct agent *a, struct worker *w, const struct rank_message *m)
{
    char beside[200];
    struct event e = { .type = EVENT_RANK_EXIT,
                       .generation = m->generation,
                       .rank = w->rank,
                       .pid = m->pid,
                       .code = m->code,
                       .signal = m->signal,
                       .oom = m->oom,
                       .lingers = m->lingers,
                       .echo = m->echo,
                       .peak_bytes = m->peak_bytes,
                       .limit_bytes = m->limit_bytes,
                       .first = generation_was_first(w, m),
                       .text = beside,
                       .last_lines = (char *)(uintptr_t)m->lines };

    beside_end(a->generation, m, beside, sizeof beside);
    e.alone =
        contact_watch_was_alone(&a->generation->contact_watch, &w->contact_watch, w->rank == 0);
    e.by_us = !e.first && (m->ordered || (a->stop.active && m->at_ns >= a->stop.began_ns));
    w->ended = true;
    if (!m->signal && !e.by_us)
        see_who_ends(a);
    a->generation->n_ended++;
    a->progress_due = true; /* send the rank's last progress page with its end */
    node_log_say(a->event_sender.log, "rank %d ended, pid %d, code %d, signal %d%s%s", w->rank,
                 m->pid, m->code, m->signal, e.by_us ? ", by us" : "",
                 e.oom ? ", out of memory" : "");
    if (a->generation->probe)
        network_measured(a, w); /* before the end, since it is more precise */
    event_sender_send(&a->event_sender, &e, m->at_ns);
    if (m->log_error && !a->logs.trouble)
        event_sender_note(
            &a->event_sender, m->generation,
            "rank %d: %lld bytes of its log could not be written in '%.200s' (%s), and "
            "possibly parts of other logs; %s, or set another folder with logs.dir",
            w->rank, (long long)m->dropped_bytes, a->logs.place.dir, strerror(-m->log_error),
            file_room_advice(m->log_error));
    a->logs.trouble = a->logs.trouble || m->log_error;
    if (m->dropped_bytes && !m->log_error)
        event_sender_note(
            &a->event_sender, m->generation,
            "rank %d wrote more than its log may hold: %lld bytes in the middle were dropped",
            w->rank, (long long)m->dropped_bytes);
}

/* Queue a rank's output for the next report.  The output of the network's probe is not shown. */
static void rank_output(struct agent *a, const struct worker *w, struct rank_message *m)
{
    const struct output o = {
        .rank = w->rank, .dropped = m->dropped_lines, .text = m->lines, .early = m->early
    };

    if (!a->generation->probe)
        outputs_add(a->outputs, &o);
}

/* Check whether a rank reports steps, so that a lack of new steps shows that it does not advance.
 */
static bool tells_steps(const struct worker *w)
{
    return w->seen && (!w->before.steps_source || w->before.steps_done > 0);
}

/* Send the driver the event that a rank has been quiet since w->quiet.since_ns or, if not quiet,
 * works again (quiet_ns 0).
 */
static void tell_quiet(struct agent *a, const struct worker *w, bool quiet, int64_t now_ns)
{
    const struct event e = { .type = EVENT_QUIET,
                             .generation = a->generation->number,
                             .rank = w->rank,
                             .quiet_ns = quiet ? now_ns - w->quiet.since_ns : 0 };

    event_sender_send(&a->event_sender, &e, now_ns);
}

/* Report to the driver which code a rank executes: the sentence `where` or, if it is "", the kernel
 * function in which it waits. code: as stack_inspect_finish returns it.
 */
static void report_place(struct agent *a, const struct worker *w, int code, const char *where)
{
    char wait[48], text[STACK_PLACE];
    const struct event e = { .type = EVENT_PLACE,
                             .generation = a->generation->number,
                             .rank = w->rank,
                             .code = code,
                             .text = text };

    (void)snprintf(text, sizeof text, "%s", where);
    if (!text[0]) {
        quiet_watch_where(w->pid, wait, sizeof wait);
        if (wait[0])
            (void)snprintf(text, sizeof text, "it waits in the kernel function %s", wait);
    }
    event_sender_send(&a->event_sender, &e, clock_now_ns());
}

void agent_look_at_stacks(struct agent *a, int64_t now_ns)
{
    struct generation *g = a->generation;

    for (int i = 0; i < g->n; i++) {
        struct worker *w = &g->worker[i];

        if (!w->ended && w->pid > 0 && w->stack.pid <= 0 &&
            stack_inspect_start(&w->stack, w->pid, now_ns) < 0)
            report_place(a, w, 0, "");
    }
}

/* Kill the py-spy processes that have passed their deadline. */
static void report_stacks_soon(struct generation *g, int64_t now_ns)
{
    for (int i = 0; i < g->n; i++)
        stack_inspect_report_soon(&g->worker[i].stack, now_ns);
}

/* Log that py-spy could not inspect a rank.  If the kernel forbids it, also tell the user why, a
 * single time for each generation.
 */
static void report_unseen(struct agent *a, const struct worker *w, int status)
{
    const char *why = stack_inspect_forbidden(stack_inspect_scope(), geteuid() == 0);

    node_log_say(a->event_sender.log, "py-spy could not inspect rank %d: code %d%s%s", w->rank,
                 WEXITSTATUS(status), why ? ", " : "", why ? why : "");
    if (!why || a->generation->reported_forbidden)
        return;
    a->generation->reported_forbidden = true;
    event_sender_note(&a->event_sender, a->generation->number,
                      "py-spy could not inspect rank %d: %s", w->rank, why);
}

/* Report where a rank stands if pid is the py-spy process that inspected it. */
static void stack_seen(struct agent *a, pid_t pid, int status)
{
    struct generation *g = a->generation;
    char where[STACK_PLACE];

    for (int i = 0; g && i < g->n; i++) {
        struct worker *w = &g->worker[i];
        int code;

        if (w->stack.pid != pid)
            continue;
        code = stack_inspect_finish(&w->stack, status, where, sizeof where);
        if (!code && !w->ended && WIFEXITED(status) && WEXITSTATUS(status))
            report_unseen(a, w, status);
        if (!w->ended)
            report_place(a, w, code, where);
        return;
    }
}

/* If the user asked for it, check whether ranks that report no steps neither print nor compute, and
 * report each change.
 */
static void look_for_quiet(struct agent *a, int64_t now_ns)
{
    struct generation *g = a->generation;
    int64_t quiet_ns = a->agent_config->quiet_ns;

    for (int i = 0; quiet_ns > 0 && !g->probe && i < g->n; i++) {
        struct worker *w = &g->worker[i];
        int64_t limit_ns = quiet_ns;
        int news;

        if (tells_steps(w) || w->ended || w->pid <= 0)
            continue;
        /* proctree_maps is called as late as possible: it reads the whole memory map of the process
         */
        if (!w->seen && !w->quiet.reported && w->quiet.looked_ns &&
            now_ns - w->quiet.since_ns >= quiet_ns && proctree_maps(w->pid, "/libeddis.so"))
            limit_ns = a->agent_config->quiet_start_ns;
        news = quiet_watch_look(&w->quiet, w->wrapper, limit_ns, now_ns);
        if (news)
            tell_quiet(a, w, news > 0, now_ns);
    }
}

void agent_read_messages(struct agent *a)
{
    struct rank_message m;
    struct worker *w;

    while (a->generation && (w = generation_message(a->generation, &m))) {
        if (m.kind == RANK_STARTED)
            rank_started(a, w, &m);
        else if (m.kind == RANK_ENDED)
            rank_ended(a, w, &m);
        else if (m.kind == RANK_OUTPUT)
            rank_output(a, w, &m);
        if (m.kind == RANK_OUTPUT)
            quiet_watch_heard(&w->quiet, clock_now_ns());
    }
}

void agent_read_relays(struct agent *a)
{
    struct eddis_error err = { 0 };
    int rc;

    while (a->generation) {
        struct event e = { .type = EVENT_RELAY, .generation = a->generation->number, .rank = -1 };

        rc = generation_relay(a->generation, &e.relay, &err);
        if (rc == 0)
            return;
        if (rc < 0) {
            event_sender_failed(&a->event_sender, EVENT_FAILED, e.generation, &err);
            continue;
        }
        node_log_say(a->event_sender.log, "mpirun wants a daemon on %s", e.relay.host);
        event_sender_send(&a->event_sender, &e, clock_now_ns());
        relay_free(&e.relay);
    }
}

/* Report the end of ranks whose wrapper has died without reporting it.  Such a wrapper was killed,
 * and its program with it, by the program's parent-death signal.
 */
void agent_look_at_wrappers(struct agent *a)
{
    struct generation *g = a->generation;

    for (int i = 0; g && i < g->n; i++) {
        struct worker *w = &g->worker[i];
        struct pollfd fd = { .fd = w->pidfd, .events = POLLIN };
        struct rank_message m = { .generation = g->number,
                                  .at_ns = clock_now_ns(),
                                  .wrapper = w->wrapper,
                                  .pid = w->pid,
                                  .code = -1,
                                  .signal = SIGKILL,
                                  .ordered = g->mpirun_ended };

        /* Without a pidfd the wrapper was dead already when its first message came. */
        if (w->pidfd < 0 ? !w->wrapper || w->ended : poll(&fd, 1, 0) <= 0)
            continue;
        agent_read_messages(a); /* the wrapper may have reported before it died */
        if (!w->ended) {
            if (w->watch_error)
                (void)snprintf(m.lines, sizeof m.lines, "its eddis-rank could not be watched: %s\n",
                               strerror(w->watch_error));
            else
                strcpy(m.lines, "eddis-rank was killed\n");
            rank_ended(a, w, &m);
        }
        if (w->pidfd >= 0)
            (void)close(w->pidfd);
        w->pidfd = -1;
    }
}

/* ---- children ---- */

/* Write to ret [size] one sentence about the end of mpirun or its daemon; "": nothing to add to
 * code and signal. words: the end of its log; NULL: none.
 */
static void describe_end(const struct generation *g, int status, const char *words, char *ret,
                         size_t size)
{
    char why[300] = "";
    bool known = openmpi_explain(words, why, sizeof why);

    if (!known && WIFSIGNALED(status) && may_lack_shm(g) &&
        (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS))
        write_shm_lack(g, why, sizeof why);
    ret[0] = '\0';
    if (g->place > 0 && WIFSIGNALED(status))
        snprintf(ret, size, "mpirun's daemon, %s, died of signal %d (%s)", g->mpi->daemon,
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (g->place > 0)
        snprintf(ret, size, "mpirun's daemon, %s, exited %d%s%s", g->mpi->daemon,
                 WEXITSTATUS(status), known ? ": " : "", why);
    else
        snprintf(ret, size, "%s", why);
}

/* Record the end of mpirun or its daemon, after handling the messages sent before.  Report it to
 * the driver, unless it is a daemon's ordinary end. status: as from waitpid.
 */
static void mpirun_ended(struct agent *a, int status)
{
    struct generation *g = a->generation;
    cleanup_free char *words = status ? generation_words(g) : NULL;
    char sentence[400];
    struct event e = { .type = EVENT_MPIRUN_EXIT,
                       .generation = g->number,
                       .rank = -1,
                       .pid = (int)g->mpirun,
                       .code = WIFSIGNALED(status) ? -1 : WEXITSTATUS(status),
                       .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                       .by_us = a->stop.active,
                       .text = sentence,
                       .last_lines = words };

    describe_end(g, status, words, sentence, sizeof sentence);
    agent_read_messages(a); /* the ranks' earlier messages come first */
    agent_read_relays(a);
    g->mpirun_ended = true;
    g->mpirun = 0;
    node_log_say(a->event_sender.log, "%s ended, code %d, signal %d",
                 g->place ? g->mpi->daemon : "mpirun", e.code, e.signal);
    if (g->place == 0 || (status != 0 && !e.by_us))
        event_sender_send(&a->event_sender, &e, clock_now_ns());
}

/* Report the result of the ended device probe: the profile, that the node was not measured, or the
 * failure.
 */
static void probe_ended(struct agent *a, int status)
{
    cleanup_free char *text = NULL;
    struct eddis_error err = { 0 };
    struct event e = { .type = EVENT_PROFILE, .generation = a->probe_order, .rank = -1 };
    int rc = probe_finish(&a->probe, status, &text, &err);

    if (rc == -ENODATA) {
        e.type = EVENT_UNMEASURED;
        event_sender_send(&a->event_sender, &e, clock_now_ns());
        return;
    }
    if (rc < 0) {
        event_sender_failed(&a->event_sender, EVENT_FAILED, a->probe_order, &err);
        return;
    }
    node_log_say(a->event_sender.log, "profiled");
    e.text = text;
    event_sender_send(&a->event_sender, &e, clock_now_ns());
}

/* Store the versions that the program's interpreter has printed, for agent_step_check, or report
 * why it failed.  Do nothing if the check is over, because the generation is being stopped.
 */
static void program_ended(struct agent *a, int status)
{
    struct eddis_error err = { 0 };

    free(a->versions);
    a->versions = NULL;
    if (program_probe_finish(&a->program, status, &a->versions, &err) == 0 || a->check_order < 0 ||
        a->stop.active)
        return;
    event_sender_failed(&a->event_sender, EVENT_FAILED, a->check_order, &err);
    a->check_order = -1;
}

void agent_reap(struct agent *a)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        agent_note_reader(a, pid, 0);
        if (a->generation && pid == a->generation->mpirun)
            mpirun_ended(a, status);
        else if (pid == a->probe.pid)
            probe_ended(a, status);
        else if (pid == a->gpu_wait.list.pid)
            gpu_wait_listed(&a->gpu_wait, status);
        else if (pid == a->program.pid)
            program_ended(a, status);
        else if (!a->generation ||
                 !gpu_watch_ended(a->generation->gpus, pid, status, clock_now_ns()))
            stack_seen(a, pid, status);
        /* or an orphan of a rank: this process is its reaper */
    }
}

/* ---- reports ---- */

/* Return, as words for people (a string constant), why the agent leaves without an order of the
 * driver; "": it was ordered to leave.
 */
static const char *why_it_leaves(const struct agent *a)
{
    return a->life.keeper_lost                     ? "its supervisor was lost"
           : a->exit_code == 128 + SIGTERM         ? "it received SIGTERM"
           : a->exit_code == 0 || a->exit_code < 0 ? ""
                                                   : "it could not continue";
}

void agent_leave(struct agent *a)
{
    int64_t lease_ns = a->agent_config ? a->agent_config->lease_ns : 0, now_ns = clock_now_ns();
    int64_t end_ns = now_ns + timing_farewell_ns(lease_ns);
    struct event e = { .type = EVENT_LEFT, .rank = -1, .step = -1 };

    if (!a->registered || watchdog_is_cut(&a->life))
        return;
    e.code = a->exit_code;
    e.text = (char *)(uintptr_t)why_it_leaves(a);
    event_sender_send(&a->event_sender, &e, now_ns);
    for (int failed = 0;
         !reporter_empty(a->event_sender.reporter) && now_ns < end_ns && failed < 3;) {
        int64_t next_ns = reporter_next_ns(a->event_sender.reporter, now_ns);

        tick_beat(a->life.page, TICK_AGENT);
        if (reporter_send(a->event_sender.reporter, NULL, 0, now_ns, NULL) < 0)
            return;
        next_ns = timing_least_ns(next_ns, end_ns);
        next_ns = timing_least_ns(next_ns, now_ns + timing_tick_ns(lease_ns));
        if (http_client_wait(a->http, NULL, 0, next_ns, NULL) < 0)
            return;
        now_ns = clock_now_ns();
        failed += reporter_failed(a->event_sender.reporter);
    }
}

/* Kill processes of the generation that have been stopped by a signal for too long, and report
 * each.
 */
static void look_for_frozen(struct agent *a, int64_t now_ns)
{
    char what[256];

    while (generation_kill_frozen(a->generation, now_ns,
                                  timing_frozen_ns(a->agent_config->lease_ns), what, sizeof what))
        event_sender_note(&a->event_sender, a->generation->number, "%s", what);
}

/* Send an event with a text from rank 0's progress page about the whole job; text NULL: do nothing.
 */
static void send_text(struct agent *a, enum event_type type, char *text, int64_t now_ns)
{
    struct event e = { .type = type, .generation = a->generation->number, .rank = 0, .text = text };

    if (text)
        event_sender_send(&a->event_sender, &e, now_ns);
}

/* Report the algorithms that rank 0 chose for communication, if they are new. */
static void tell_choice(struct agent *a, int64_t now_ns)
{
    const struct comm_choice *c = generation_choice(a->generation);
    cleanup_free char *text = c ? choice_text(c) : NULL;

    send_text(a, EVENT_CHOICE, text, now_ns);
}

/* Report what rank 0 has found out about the network, if it was not reported before. */
static void tell_network(struct agent *a, int64_t now_ns)
{
    const struct network_check *c = generation_network_check(a->generation);
    cleanup_free char *text = c ? network_check_text(c) : NULL;

    send_text(a, EVENT_NETWORK, text, now_ns);
}

/* Report what is newly wrong with the GPUs of this node's ranks. */
static void tell_gpus(struct agent *a, int64_t now_ns)
{
    struct generation *g = a->generation;
    char news[300], text[340];

    for (int i = 0; i < g->n && !g->probe; i++) {
        struct event e = {
            .type = EVENT_NOTE, .generation = g->number, .rank = g->worker[i].rank, .text = text
        };

        while (gpu_watch_news(g->gpus, i, news, sizeof news)) {
            (void)snprintf(text, sizeof text, "rank %d: %s", e.rank, news);
            node_log_say(a->event_sender.log, "%s", text);
            event_sender_send(&a->event_sender, &e, now_ns);
        }
    }
}

/* Report the size of rank 0's model and its program's needs, when rank 0 first asks for the mode.
 */
static void tell_model(struct agent *a, int64_t now_ns)
{
    struct event e = { .type = EVENT_COMMITTED, .generation = a->generation->number, .rank = 0 };

    e.model_bytes = generation_model_bytes(a->generation, &e.program);
    if (e.model_bytes >= 0)
        event_sender_send(&a->event_sender, &e, now_ns);
}

/* Report the connections that mpirun has rejected since the previous report, in an event for each
 * address, and reset their counters.
 */
static void tell_refused(struct agent *a, int64_t now_ns)
{
    struct http_rejections *r = &a->generation->refused;

    for (int i = 0; i < r->n_peers; i++) {
        struct event e = { .type = EVENT_REFUSED,
                           .generation = a->generation->number,
                           .rank = -1,
                           .refused = r->peer[i].n,
                           .text = r->peer[i].peer };

        node_log_say(a->event_sender.log, "mpirun refused %lld connections from %s",
                     (long long)r->peer[i].n, r->peer[i].peer);
        event_sender_send(&a->event_sender, &e, now_ns);
    }
    *r = (struct http_rejections){ 0 };
}

void agent_report(struct agent *a, int64_t now_ns)
{
    struct generation *g = a->generation;
    struct eddis_error err = { 0 };
    int n = 0;

    if (!a->registered)
        return;
    if (g && g->started && g->report_at_step && now_ns >= g->backoff.next_ns &&
        generation_reached_step(g, a->agent_config->heartbeat_ns, now_ns))
        a->progress_due = true;
    if (g && g->started && g->open && now_ns >= g->asked.next_ns && generation_asks_mode(g, now_ns))
        a->progress_due = true;
    if (g && g->started && now_ns >= g->look_ns &&
        generation_look(g, a->agent_config->heartbeat_ns, now_ns) && !a->progress_due &&
        report_limit_allows(&a->report_limit, a->agent_config->heartbeat_ns, now_ns))
        a->progress_due = true;
    if (g && g->started && !g->probe && now_ns >= g->contact_watch.next_ns)
        generation_inspect_contacts(g, now_ns);
    if ((now_ns >= a->progress_ns || a->progress_due) && reporter_idle(a->event_sender.reporter)) {
        a->progress_ns = clock_after_ns(now_ns, a->agent_config->heartbeat_ns);
        a->progress_due = false;
        reporter_beat(a->event_sender.reporter); /* the driver's answer renews this node's lease */
        if (g && g->started) {
            n = generation_progress(g, now_ns, a->progress);
            tell_choice(a, now_ns);
            tell_network(a, now_ns);
            tell_gpus(a, now_ns);
            tell_refused(a, now_ns);
            tell_model(a, now_ns); /* last, since the driver compares it with the other events */
            if (!a->life.paused) {
                look_for_frozen(a, now_ns);
                look_for_quiet(a, now_ns);
            }
            report_stacks_soon(g, now_ns);
        }
    }
    reporter_take_output(a->event_sender.reporter, a->outputs, a->stop.active || a->bye);
    reporter_take_logs(a->event_sender.reporter, a->logs.sending);
    agent_logs_report(&a->logs, &a->event_sender);
    if (reporter_send(a->event_sender.reporter, a->progress, n, now_ns, &err) < 0)
        node_log_say(a->event_sender.log, "cannot report: %s", err.text);
}
