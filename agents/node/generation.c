/* SPDX-License-Identifier: Apache-2.0 */
#include "generation.h"

#include "launch.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proctree.h"
#include "lib/base/program.h"
#include "lib/base/spawn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Of enum eddis_phase, with room for more. */
enum { EDDIS_PHASES = 63 };

enum { SOCKET_BYTES = 4 << 20, WORDS_BYTES = 2048 };

/* ---- making it ---- */

static int copy_path(const char *path, char *ret, size_t size, struct eddis_error *err)
{
    if (path && strlen(path) >= size)
        return eddis_fail(err, -ENAMETOOLONG, "the path '%.100s...' is too long", path);
    snprintf(ret, size, "%s", path ? path : "");
    return 0;
}

static int make_board(struct generation *g, const struct brief *b, const struct order *o,
                      struct eddis_error *err)
{
    cleanup_free struct board_area *area = calloc(1, sizeof *area);
    int rc;

    if (!area)
        return eddis_fail(err, -ENOMEM, "no memory for the board");
    area->n_ranks = o->n_ranks;
    area->n_local = o->n_local;
    area->generation = (int32_t)o->generation;
    area->first_rank = o->rank[0].rank;
    area->emulated = o->emulated;
    area->checkpoint_keep = (int32_t)o->checkpoint_keep;
    area->checkpoint_every = o->checkpoint_every;
    area->bucket_bytes = o->bucket_bytes;
    area->seed = o->seed;
    area->warmup_steps = o->warmup_steps;
    memcpy(area->mode, o->mode, sizeof area->mode);
    memcpy(area->algorithm, o->algorithm, sizeof area->algorithm);
    for (int i = 0; i < o->n_local; i++) {
        area->fixed_s[i] = o->rank[i].fixed_s;
        area->sample_s[i] = o->rank[i].sample_s;
    }
    snprintf(area->job, sizeof area->job, "%s", b->job_id);
    if ((rc = copy_path(b->checkpoint_dir, area->checkpoint_dir, sizeof area->checkpoint_dir,
                        err)) < 0 ||
        (rc = copy_path(o->resume ? b->resume_from : NULL, area->resume_from,
                        sizeof area->resume_from, err)) < 0)
        return rc;
    rc = board_create(g->board_path, area, &g->board, err);
    if (rc < 0)
        return rc;
    g->board_linked = true;
    return board_publish(g->board, o->plan, err);
}

static int make_socket(struct generation *g, struct eddis_error *err)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int bytes = SOCKET_BYTES;

    if (strlen(g->socket_path) >= sizeof at.sun_path)
        return eddis_fail(err, -ENAMETOOLONG, "the path '%s' is too long for a socket",
                          g->socket_path);
    memcpy(at.sun_path, g->socket_path, strlen(g->socket_path) + 1);
    g->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (g->socket < 0 || bind(g->socket, (struct sockaddr *)&at, sizeof at) < 0)
        return eddis_fail_errno(err, -errno, "cannot make the socket '%s'", g->socket_path);
    (void)setsockopt(g->socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return 0;
}

/* A port of rank 0's own, for programs that meet by MASTER_PORT.  It stays bound until mpirun
 * starts, so that nobody else is given it meanwhile.
 */
static int choose_port(struct generation *g, int *ret, struct eddis_error *err)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof at;

    g->port_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (g->port_fd < 0 || bind(g->port_fd, (struct sockaddr *)&at, n) < 0 ||
        getsockname(g->port_fd, (struct sockaddr *)&at, &n) < 0)
        return eddis_fail_errno(err, -errno, "cannot find a free port on 127.0.0.1");
    *ret = ntohs(at.sin_port);
    return 0;
}

static int make_launch(struct generation *g, const struct generation_place *where,
                       const struct order *o, struct eddis_error *err)
{
    char rank_program[PATH_MAX];
    struct launch l = { .brief = where->brief,
                        .order = o,
                        .run_dir = g->run,
                        .shm_dir = g->shm,
                        .folders = where->folders,
                        .rank_program = rank_program,
                        .rank_file = g->rank_file,
                        .socket = g->socket_path,
                        .board = g->board_path,
                        .bin = where->bin,
                        .cores = where->cores,
                        .agent_pid = (int)getpid() };
    int rc;

    if ((rc = launch_check(&l, err)) < 0 ||
        (rc = program_path("eddis-rank", rank_program, sizeof rank_program, err)) < 0 ||
        (rc = choose_port(g, &l.master_port, err)) < 0 ||
        (rc = launch_write_rank_file(&l, err)) < 0)
        return rc;
    return launch_argv(&l, g->argv, err);
}

static struct generation *allocate(const struct generation_place *where, const struct order *o)
{
    struct generation *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    g->worker = calloc((size_t)o->n_local, sizeof *g->worker);
    g->argv = calloc(1, sizeof *g->argv);
    g->number = o->generation;
    g->n = o->n_local;
    g->report_at_step = o->report_at_step;
    g->socket = g->port_fd = -1;
    g->folders = *where->folders;
    for (int i = 0; g->worker && i < g->n; i++)
        g->worker[i] = (struct worker){ .rank = o->rank[i].rank, .local_rank = i, .pidfd = -1 };
    snprintf(g->run, sizeof g->run, "%s/g%lld", where->folders->run, (long long)g->number);
    snprintf(g->shm, sizeof g->shm, "%s/g%lld", where->folders->shm, (long long)g->number);
    snprintf(g->board_path, sizeof g->board_path, "%s/board", g->shm);
    snprintf(g->rank_file, sizeof g->rank_file, "%s/ranks.json", g->run);
    snprintf(g->socket_path, sizeof g->socket_path, "%s/agent", g->run);
    snprintf(g->log_path, sizeof g->log_path, "%s/mpirun.log", where->brief->log_dir);
    if (g->worker && g->argv)
        return g;
    generation_close(g);
    return NULL;
}

int generation_prepare(const struct generation_place *where, const struct order *o,
                       struct generation **ret, struct eddis_error *err)
{
    struct generation *g;
    int rc;

    if (o->n_local != o->n_ranks)
        return eddis_fail(err, -ENOTSUP,
                          "%d of %d ranks are on other nodes, which this version cannot start",
                          o->n_ranks - o->n_local, o->n_ranks);
    g = allocate(where, o);
    if (!g)
        return eddis_fail(err, -ENOMEM, "no memory for a generation");
    if ((rc = folders_begin(&g->folders, g->number, err)) < 0 ||
        (rc = make_board(g, where->brief, o, err)) < 0 || (rc = make_socket(g, err)) < 0 ||
        (rc = make_launch(g, where, o, err)) < 0) {
        generation_close(g);
        return rc;
    }
    *ret = g;
    return 0;
}

int generation_start(struct generation *g, const struct brief *b, struct eddis_error *err)
{
    cleanup_fd int log =
        open(g->log_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct spawn s = { .argv = (const char *const *)g->argv->item,
                       .dir = b->workdir,
                       .in = -1,
                       .out = log,
                       .err = log,
                       .own_group = true,
                       .parent_death_signal = SIGKILL };
    struct stat st;
    int rc;

    if (g->started)
        return eddis_fail(err, -EALREADY, "generation %lld was started already",
                          (long long)g->number);
    if (log < 0 || fstat(log, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot write '%s'", g->log_path);
    g->log_offset = st.st_size;
    (void)close(g->port_fd);
    g->port_fd = -1;
    rc = spawn_start(&s, &g->mpirun, err);
    if (rc == -ENOENT)
        return eddis_fail_prefix(err, rc, "Open MPI is needed (Debian: openmpi-bin)");
    g->started = rc == 0;
    return rc;
}

/* ---- while it runs ---- */

struct worker *generation_message(struct generation *g, struct rank_message *ret)
{
    while (recv(g->socket, ret, sizeof *ret, 0) == (ssize_t)sizeof *ret) {
        struct worker *w = NULL;

        ret->lines[sizeof ret->lines - 1] = '\0';
        for (int i = 0; i < g->n; i++)
            if (g->worker[i].rank == ret->rank)
                w = &g->worker[i];
        if (ret->magic != RANK_MESSAGE_MAGIC || ret->generation != g->number || !w || w->ended)
            continue;
        if (!w->wrapper) {
            w->wrapper = ret->wrapper;
            w->pidfd = pidfd_open(w->wrapper, 0); /* -1: it is dead already, and told us so */
        }
        w->pid = ret->pid;
        return w;
    }
    return NULL;
}

void generation_signal(const struct generation *g, int sig)
{
    for (int i = 0; i < g->n; i++)
        if (g->worker[i].pidfd >= 0)
            (void)pidfd_send_signal(g->worker[i].pidfd, sig, NULL, 0);
}

/* A page is written by the user's process: what it cannot be is made what it may be, or the driver
 * would refuse the whole report.
 */
static void make_sane(struct board_page *page)
{
    int64_t *number[] = {
        &page->steps_done,   &page->steps_total,    &page->steps_in_epoch, &page->epochs,
        &page->samples_done, &page->plan_version,   &page->bytes_sent,     &page->overrun_ns,
        &page->steps_here,   &page->step_plan,      &page->steps_before,   &page->samples_before,
        &page->sum.input_ns, &page->sum.compute_ns, &page->sum.exposed_ns, &page->sum.wait_ns,
        &page->sum.total_ns,
    };

    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (*number[i] < 0)
            *number[i] = 0;
    if (page->plan_since < -1)
        page->plan_since = -1;
    if (page->pid < 0)
        page->pid = 0;
    if (page->phase < 0 || page->phase > EDDIS_PHASES)
        page->phase = 0;
    for (int i = 0; i < BOARD_METRICS; i++)
        page->metric[i].name[BOARD_METRIC_NAME - 1] = '\0';
}

static int64_t since(int64_t now, int64_t before)
{
    return now > before ? now - before : 0;
}

static void fill(struct progress *p, const struct board_page *page, const struct worker *w,
                 int64_t now_ns)
{
    const struct board_step *last = &page->ring[(page->steps_done + BOARD_RING - 1) % BOARD_RING];

    *p = (struct progress){
        .rank = w->rank,
        .pid = page->pid,
        .phase = page->phase,
        .steps_done = page->steps_done,
        .steps_total = page->steps_total,
        .steps_in_epoch = page->steps_in_epoch,
        .epochs = page->epochs,
        .steps_here = page->steps_here,
        .samples_done = page->samples_done,
        .plan_version = page->plan_version,
        .plan_since = page->plan_since,
        .bytes_sent = page->bytes_sent,
        .overrun_ns = page->overrun_ns,
        .page_age_ns = -1,
        .loss = page->has_loss ? page->loss : __builtin_nan(""),
        .sum = page->sum,
        .step_plan = page->step_plan,
        .steps_before = page->steps_before,
        .samples_before = page->samples_before,
        .sum_before = page->sum_before,
    };
    memcpy(p->metric, page->metric, sizeof p->metric);
    p->waits_for = (int)page->waits_for;
    p->phase_age_ns = page->phase_ns > 0 ? since(now_ns, page->phase_ns) : -1;
    if (page->steps_done > 0)
        p->page_age_ns = since(now_ns, last->end_ns);
    if (w->seen && page->samples_done >= w->before.samples_done &&
        page->steps_here >= w->before.steps_here) {
        p->recent_steps = page->steps_here - w->before.steps_here;
        p->recent_samples = page->samples_done - w->before.samples_done;
        p->recent = (struct board_times){
            .input_ns = since(page->sum.input_ns, w->before.sum.input_ns),
            .compute_ns = since(page->sum.compute_ns, w->before.sum.compute_ns),
            .exposed_ns = since(page->sum.exposed_ns, w->before.sum.exposed_ns),
            .wait_ns = since(page->sum.wait_ns, w->before.sum.wait_ns),
            .total_ns = since(page->sum.total_ns, w->before.sum.total_ns),
        };
    }
}

int generation_progress(struct generation *g, int64_t now_ns, struct progress *ret)
{
    int n = 0;

    for (int i = 0; i < g->n; i++) {
        struct worker *w = &g->worker[i];
        struct board_page page;

        if (board_read(g->board, w->local_rank, &page, NULL) < 0)
            continue;
        make_sane(&page);
        fill(&ret[n++], &page, w, now_ns);
        w->before = page;
        w->seen = true;
    }
    /* All have mapped it: from now on nothing is left of it when they are gone. */
    if (g->board_linked && board_all_mapped(g->board)) {
        (void)unlink(g->board_path);
        g->board_linked = false;
    }
    return n;
}

bool generation_reached_step(struct generation *g)
{
    if (g->report_at_step == 0)
        return false;
    for (int i = 0; i < g->n; i++) {
        struct board_page page;

        if (board_read(g->board, g->worker[i].local_rank, &page, NULL) < 0 ||
            page.steps_here < g->report_at_step)
            return false;
    }
    g->report_at_step = 0;
    return true;
}

char *generation_words(const struct generation *g)
{
    cleanup_fd int fd = open(g->log_path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    int64_t from = g->log_offset;
    char *words;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= from)
        return NULL;
    if (st.st_size - from > WORDS_BYTES)
        from = st.st_size - WORDS_BYTES;
    words = calloc(1, WORDS_BYTES + 1);
    n = words ? pread(fd, words, WORDS_BYTES, from) : 0;
    if (words && n >= 0)
        words[n] = '\0';
    return words;
}

/* ---- stopped processes ---- */

/* Whether pid has been stopped for limit_ns.  Counted by our own looks as in tick.h: whoever was
 * stopped together with us has as long as anybody to go on.
 */
static bool is_frozen(struct frozen *f, pid_t pid, int64_t now_ns, int64_t limit_ns)
{
    int64_t gone = f->looked_ns ? now_ns - f->looked_ns : 0;

    f->looked_ns = now_ns;
    if (proctree_state(pid) != 'T')
        f->stopped_ns = 0;
    else
        f->stopped_ns += gone < limit_ns / 4 ? gone : limit_ns / 4;
    return f->stopped_ns > limit_ns;
}

bool generation_kill_frozen(struct generation *g, int64_t now_ns, int64_t limit_ns, char *ret,
                            size_t size)
{
    static const char said[] = "was stopped by a signal and has not gone on: killed";

    if (g->mpirun && is_frozen(&g->mpirun_frozen, g->mpirun, now_ns, limit_ns)) {
        snprintf(ret, size, "mpirun (pid %d) %s", (int)g->mpirun, said);
        (void)kill(g->mpirun, SIGKILL);
        g->mpirun_frozen.stopped_ns = 0;
        return true;
    }
    for (int i = 0; i < g->n; i++) {
        struct worker *w = &g->worker[i];
        bool program = is_frozen(&w->program_frozen, w->pid, now_ns, limit_ns);
        bool wrapper = is_frozen(&w->wrapper_frozen, w->wrapper, now_ns, limit_ns);

        if (w->ended || w->pidfd < 0 || (!program && !wrapper))
            continue;
        snprintf(ret, size, "rank %d (pid %d) %s", w->rank, (int)(program ? w->pid : w->wrapper),
                 said);
        (void)kill(program ? w->pid : w->wrapper, SIGKILL);
        w->program_frozen.stopped_ns = w->wrapper_frozen.stopped_ns = 0;
        return true;
    }
    return false;
}

void generation_close(struct generation *g)
{
    if (!g)
        return;
    for (int i = 0; g->worker && i < g->n; i++)
        if (g->worker[i].pidfd >= 0)
            (void)close(g->worker[i].pidfd);
    if (g->socket >= 0)
        (void)close(g->socket);
    if (g->port_fd >= 0)
        (void)close(g->port_fd);
    board_close(g->board);
    (void)folders_end(&g->folders, g->number, NULL);
    if (g->argv)
        strlist_fini(g->argv);
    free(g->argv);
    free(g->worker);
    free(g);
}
