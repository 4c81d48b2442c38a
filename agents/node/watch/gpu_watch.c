/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_watch.c - starts eddis-probe --watch-gpus, and takes its lines from a pipe */
#include "gpu_watch.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/program.h"
#include "lib/base/spawn.h"
#include "lib/base/strbuf.h"
#include "lib/model/gpu_state_json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STALE_NS (15 * CLOCK_S) /* age of a reading at which it counts no longer */
#define LATE_NS  (60 * CLOCK_S) /* silence of the process before it is killed */
#define AGAIN_NS (60 * CLOCK_S) /* pause after a process that has ended */
#define STUCK_NS (2 * CLOCK_S)  /* time for the end of a killed process */

enum { LINE = 4096 }; /* longest line */
enum { NEWS = 20 };   /* most news of one GPU: a card that is broken repeats them */

/* A GPU of a rank */
struct watched {
    int rank; /* index of gpu_watch_open */
    char id[64];
    struct gpu_state now, reported; /* last reading; as gpu_watch_news reported it */
    int64_t at_ns;                  /* arrival of `now` */
    int n_news;                     /* times that gpu_watch_news returned true */
};

struct gpu_watch {
    struct watched *gpu; /* [n] by rank; one that several ranks share is there for each */
    int n;
    char *ids;                             /* of the GPUs, with commas; NULL: there is none */
    pid_t pid;                             /* 0: it does not run */
    int fd;                                /* end of its pipe, -1: none */
    int64_t start_ns, heard_ns, killed_ns; /* next start; last line; 0: not killed */
    char line[LINE];
    size_t used;
    bool over; /* never start again */
};

/* Check whether this is the id of a GPU. */
static bool is_gpu(const char *id)
{
    return strncmp(id, "GPU-", 4) == 0 || strncmp(id, "MIG-", 4) == 0;
}

/* Return how many GPUs the ranks have at most, by the commas between their ids. */
static size_t count(const struct order_rank *rank, int n)
{
    size_t most = 0;

    for (int i = 0; i < n; i++, most++)
        for (const char *at = rank[i].device_id; (at = strchr(at, ',')); at++)
            most++;
    return most;
}

/* Add the GPUs of rank i, whose ids are divided by commas, to w and to ids. */
static void add_rank(struct gpu_watch *w, int i, const char *list, struct strbuf *ids)
{
    while (is_gpu(list)) {
        struct watched *g = &w->gpu[w->n++];
        int length = (int)strcspn(list, ",");

        g->rank = i;
        (void)snprintf(g->id, sizeof g->id, "%.*s", length, list);
        strbuf_addf(ids, "%s%s", ids->len ? "," : "", g->id);
        list += length + (list[length] == ',');
    }
}

struct gpu_watch *gpu_watch_open(const struct order_rank *rank, int n)
{
    struct gpu_watch *w = calloc(1, sizeof *w);
    struct strbuf ids = { 0 };

    if (!w)
        return NULL;
    w->fd = -1;
    w->gpu = calloc(count(rank, n) + 1, sizeof *w->gpu);
    for (int i = 0; w->gpu && i < n; i++)
        add_rank(w, i, rank[i].device_id, &ids);
    w->over = ids.len == 0;
    w->ids = strbuf_steal(&ids);
    if (w->gpu && (w->ids || w->over))
        return w;
    (void)gpu_watch_close(w);
    return NULL;
}

/* Kill the process, if it runs; the agent reaps it. */
static void kill_process(struct gpu_watch *w, int64_t now_ns)
{
    if (w->pid <= 0 || w->killed_ns)
        return;
    (void)kill(w->pid, SIGKILL);
    w->killed_ns = now_ns;
}

/* Close the pipe. */
static void close_pipe(struct gpu_watch *w)
{
    if (w->fd >= 0)
        (void)close(w->fd);
    w->fd = -1;
    w->used = 0;
}

pid_t gpu_watch_close(struct gpu_watch *w)
{
    pid_t left = w ? w->pid : 0;

    if (!w)
        return 0;
    kill_process(w, 1);
    close_pipe(w);
    free(w->gpu);
    free(w->ids);
    free(w);
    return left;
}

/* ---- the process ---- */

/* Start the process; if that fails, do not try again. */
static void start(struct gpu_watch *w, int64_t now_ns)
{
    char path[PATH_MAX];
    const char *argv[] = { path, "--" GPU_WATCH_OPTION, w->ids, NULL };
    struct spawn s = {
        .argv = argv, .in = -1, .err = -1, .own_group = true, .parent_death_signal = SIGKILL
    };
    int end[2] = { -1, -1 };

    w->over = true;
    if (program_path("eddis-probe", path, sizeof path, NULL) < 0 || pipe2(end, O_CLOEXEC) < 0)
        return;
    s.out = end[1];
    w->fd = end[0];
    if (fcntl(w->fd, F_SETFL, O_NONBLOCK) == 0 && spawn_start(&s, &w->pid, NULL) == 0)
        w->over = false;
    else
        close_pipe(w);
    (void)close(end[1]);
    w->heard_ns = now_ns;
    w->killed_ns = 0;
}

/* Store a reading for each rank that has this GPU. */
static void store(struct gpu_watch *w, const struct gpu_state *s, int64_t now_ns)
{
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->gpu[i].id, s->id) == 0) {
            if (s->reading == 1) /* errors before the job's start are no news */
                w->gpu[i].reported = *s;
            w->gpu[i].now = *s;
            w->gpu[i].at_ns = now_ns;
        }
    w->heard_ns = now_ns;
}

/* Take the complete lines of w->line out of it. */
static void take_lines(struct gpu_watch *w, int64_t now_ns)
{
    char *end;

    while ((end = memchr(w->line, '\n', w->used))) {
        size_t n = (size_t)(end - w->line);
        struct gpu_state s;

        if (fields_parse(&gpu_state_table, w->line, n, "GPU", &s, NULL) == 0)
            store(w, &s, now_ns);
        w->used -= n + 1;
        memmove(w->line, end + 1, w->used);
    }
    if (w->used == sizeof w->line)
        w->used = 0; /* it cannot be one of ours */
}

/* Take what has arrived in the pipe. */
static void take(struct gpu_watch *w, int64_t now_ns)
{
    ssize_t n = 0;

    while (w->fd >= 0 && (n = read(w->fd, w->line + w->used, sizeof w->line - w->used)) > 0) {
        w->used += (size_t)n;
        take_lines(w, now_ns);
    }
    if (n == 0)
        close_pipe(w);
}

void gpu_watch_take(struct gpu_watch *w, int64_t now_ns)
{
    take(w, now_ns);
    if (w->pid > 0 && now_ns - w->heard_ns > LATE_NS)
        kill_process(w, now_ns);
    if (w->pid == 0 && !w->over && now_ns >= w->start_ns)
        start(w, now_ns);
}

void gpu_watch_stop(struct gpu_watch *w, int64_t now_ns)
{
    take(w, now_ns);
    w->over = true;
    kill_process(w, now_ns);
}

bool gpu_watch_ended(struct gpu_watch *w, pid_t pid, int status, int64_t now_ns)
{
    if (pid != w->pid)
        return false;
    take(w, now_ns);
    close_pipe(w);
    w->pid = 0;
    w->killed_ns = 0;
    w->start_ns = now_ns + AGAIN_NS;
    w->over = w->over || (WIFEXITED(status) && WEXITSTATUS(status) == GPU_WATCH_EXIT_NONE);
    return true;
}

pid_t gpu_watch_stuck(const struct gpu_watch *w, int64_t now_ns)
{
    return w->pid > 0 && w->killed_ns && now_ns - w->killed_ns > STUCK_NS ? w->pid : 0;
}

/* ---- what is known ---- */

/* Return how little a reading says of what slows its rank: less for a cause further to the front of
 * enum gpu_slowed, most for an idle GPU, whose clock is low because nothing is asked of it.
 */
static int rating(const struct gpu_state *s)
{
    return s->slowed == GPU_SLOWED_NOT    ? GPU_SLOWED_IDLE
           : s->slowed == GPU_SLOWED_IDLE ? GPU_SLOWED_KINDS
                                          : (int)s->slowed;
}

/* Check whether reading a says more than b of what slows their rank: its cause, else its clock. */
static bool is_slower(const struct gpu_state *a, const struct gpu_state *b)
{
    return rating(a) != rating(b) ? rating(a) < rating(b)
           : isnan(a->clock_mhz)  ? false
           : isnan(b->clock_mhz)  ? true
                                  : a->clock_mhz < b->clock_mhz;
}

/* Check whether this is a GPU of rank i with a reading that counts. */
static bool is_current(const struct watched *g, int i, int64_t now_ns)
{
    return g->rank == i && g->now.reading && now_ns - g->at_ns <= STALE_NS;
}

struct gpu_state gpu_watch_state(const struct gpu_watch *w, int i, int64_t now_ns)
{
    struct gpu_state ret = { 0 };

    for (int k = 0; k < w->n; k++) {
        const struct watched *g = &w->gpu[k];

        if (is_current(g, i, now_ns) && (!ret.reading || is_slower(&g->now, &ret)))
            ret = g->now;
    }
    return ret;
}

int gpu_watch_states(const struct gpu_watch *w, int i, int64_t now_ns, struct gpu_state *ret)
{
    int all = 0, n = 0;

    for (int k = 0; k < w->n; k++) {
        all += w->gpu[k].rank == i;
        if (is_current(&w->gpu[k], i, now_ns) && n < GPU_MOST)
            ret[n++] = w->gpu[k].now;
    }
    return all > 1 ? n : 0;
}

/* Return what a critical error means, in words; "": NVIDIA's list says more than fits here. */
static const char *xid_words(int64_t xid)
{
    static const struct {
        int xid;
        const char *words;
    } row[] = {
        { 13, ": a program has used memory or an instruction wrongly" },
        { 31, ": a program has used an address without memory" },
        { 43, ": a program was stopped after an error of its own" },
        { 45, ": a program was ended, mostly after another error" },
        { 48, ": an error of its memory that could not be corrected" },
        { 63, ": a row of its memory was replaced; reset it when no program uses it" },
        { 64, ": a row of its memory could not be replaced" },
        { 74, ": an error of NVLink" },
        { 79, ": the GPU has fallen off the bus; restart the machine" },
        { 94, ": an error of its memory that ended one program" },
        { 95, ": an error of its memory that may have reached any program" },
        { 119, ": its system processor does not answer; reset it" },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].xid == xid)
            return row[i].words;
    return "";
}

/* Write what is newly wrong with a GPU, as gpu_watch_news. */
static bool news_of(struct watched *g, char *ret, size_t size)
{
    const struct gpu_state *now = &g->now;
    struct gpu_state *reported = &g->reported;

    if (g->n_news == NEWS)
        return false;
    if (now->xids > reported->xids) {
        (void)snprintf(ret, size, "GPU %s reports the critical error Xid %" PRId64 "%s", now->id,
                       now->xid, xid_words(now->xid));
        reported->xids = now->xids;
        g->n_news++;
        return true;
    }
    if (now->ecc_uncorrected > reported->ecc_uncorrected && reported->ecc_uncorrected >= 0) {
        (void)snprintf(ret, size,
                       "GPU %s reports %" PRId64 " new error%s of its memory that could not be "
                       "corrected (ECC)",
                       now->id, now->ecc_uncorrected - reported->ecc_uncorrected,
                       now->ecc_uncorrected - reported->ecc_uncorrected == 1 ? "" : "s");
        reported->ecc_uncorrected = now->ecc_uncorrected;
        g->n_news++;
        return true;
    }
    return false;
}

bool gpu_watch_news(struct gpu_watch *w, int i, char *ret, size_t size)
{
    for (int k = 0; k < w->n; k++)
        if (w->gpu[k].rank == i && news_of(&w->gpu[k], ret, size))
            return true;
    return false;
}
