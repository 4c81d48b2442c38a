/* SPDX-License-Identifier: Apache-2.0 */
/* fault_worker.c - a rank that keeps exact accounts, and stands still or dies where it is told
 *
 *     fault-worker FOLDER EPOCHS        EPOCHS 0: until the end of one when FOLDER holds "last"
 *
 * Every sample has a value; what the ranks have taken is summed up in the parameter and saved with
 * it, so that in the end the sum tells whether each sample was taken exactly once an epoch, however
 * often the job began again.  In sync mode it is the reduced gradient that is summed up; in async
 * and hybrid mode, where a gradient is the group's alone, every rank's own samples, which meet when
 * a checkpoint is written and at the end.  Rank 0 says at how many samples it has saved and gone
 * on, also at the end of the file "story" in FOLDER.
 *
 * FOLDER is seen by all ranks and by the test.  Its file "told" holds one line
 *
 *     MOMENT RANK GENERATION ACTION
 *
 * MOMENT: launch, step (the eighth of the generation), overlap (the eleventh), checkpoint,
 * shutdown, or "none".  At the first such moment this rank writes its pid to "here" and acts:
 * "hold" waits for a file "go", "stray" too, after it has left a child behind that only its
 * environment names, a number exits with it, "segv" is SIGSEGV.  Without the file nothing happens.
 */
#include <eddis.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 960, STEP = 8, OVERLAP = 11 }; /* the steps that moments are in */
enum { VALUES, SQUARES, TAKEN, N_SUMS };

struct worker {
    const char *folder;
    char moment[16], action[16];
    int rank, generation; /* told */
    bool done;
    double sum[N_SUMS]; /* of all samples so far: of their values, of these squared, how many */
    double own[N_SUMS]; /* of this rank's since then, in async and hybrid mode */
    double step[3]; /* the step's mean of both, and whether rank 0 saw that it is the last epoch */
    int64_t epochs;
    struct eddis *e;
    struct eddis_world world;
    int parameter;
};

static void check(int rc, const struct eddis_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "fault-worker: %s\n", err->text);
    _exit(90);
}

/* Number in the environment, which is all there is before eddis_open. */
static int number(const char *name)
{
    const char *value = getenv(name);

    return value ? atoi(value) : -1;
}

/* A line for people, and for the test, which may not see this node's log. */
static void __attribute__((format(printf, 2, 3))) tell(const struct worker *w, const char *fmt, ...)
{
    char path[512], line[160];
    va_list ap;
    FILE *f;

    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    (void)puts(line);
    if (number("RANK"))
        return;
    (void)snprintf(path, sizeof path, "%s/story", w->folder);
    f = fopen(path, "ae");
    if (!f || fprintf(f, "%s\n", line) < 0 || fclose(f))
        _exit(91);
}

static void nap(void)
{
    (void)nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

static void read_reported(struct worker *w)
{
    char path[512];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/told", w->folder);
    f = fopen(path, "re");
    if (!f)
        return;
    if (fscanf(f, "%15s %d %d %15s", w->moment, &w->rank, &w->generation, w->action) != 4)
        w->moment[0] = 0;
    (void)fclose(f);
}

static void write_here(const struct worker *w)
{
    char path[512], whole[512];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/here.new", w->folder);
    (void)snprintf(whole, sizeof whole, "%s/here", w->folder);
    f = fopen(path, "we");
    if (!f)
        _exit(91);
    (void)fprintf(f, "%d\n", (int)getpid());
    if (fclose(f) || rename(path, whole))
        _exit(91);
}

/* A child without parent, session and control group. */
static void leave_stray(void)
{
    if (system(
            "setsid sh -c 'for g in /sys/fs/cgroup/ /sys/fs/cgroup/unified/ "
            "/sys/fs/cgroup/freezer/; do test -w ${g}cgroup.procs && echo $$ > ${g}cgroup.procs; "
            "done; exec sleep 1000' > /dev/null 2>&1 &"))
        _exit(91);
    nap();
}

/* The moment has come: do what was told for it, once. */
static void moment(struct worker *w, const char *name)
{
    char path[512];

    if (w->done || strcmp(w->moment, name) || w->rank != number("RANK") ||
        w->generation != number("EDDIS_GENERATION"))
        return;
    w->done = true;
    if (!strcmp(w->action, "stray"))
        leave_stray();
    write_here(w);
    if (!strcmp(w->action, "segv")) {
        (void)signal(SIGSEGV, SIG_DFL); /* a sanitizer exits instead */
        (void)raise(SIGSEGV);
    }
    if (strcmp(w->action, "hold") && strcmp(w->action, "stray"))
        _exit(atoi(w->action));
    (void)snprintf(path, sizeof path, "%s/go", w->folder);
    while (access(path, F_OK))
        nap();
}

static void join(struct worker *w)
{
    struct eddis_error err = { 0 };
    struct eddis_options o = { .size = sizeof o, .samples = SAMPLES, .epochs = w->epochs };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "sum",
                                 .dtype = EDDIS_FLOAT64,
                                 .n_dims = 1,
                                 .dims = { 3 },
                                 .value = w->step };
    int layer;

    w->world.size = sizeof w->world;
    check(eddis_open(&o, &w->e, &err), &err);
    check(eddis_world(w->e, &w->world), &err);
    check(layer = eddis_add_layer(w->e, "accounts", EDDIS_LAYER_OTHER, &err), &err);
    check(w->parameter = eddis_add_parameter(w->e, layer, &p, &err), &err);
    check(eddis_commit(w->e, &err), &err);
}

static void resume(struct worker *w)
{
    struct eddis_error err = { 0 };
    struct eddis_checkpoint *c;
    int there = eddis_restore_begin(w->e, NULL, &c, &err);

    check(there, &err);
    if (there) {
        check(eddis_checkpoint_get(c, "sum", w->sum, sizeof w->sum, &err), &err);
        check(eddis_restore_end(c, &err), &err);
    }
}

/* How far the job had come, in samples, as rank 0 has noted it; notes `now` instead unless NULL. */
static double reached(const struct worker *w, const double *now)
{
    char path[512];
    double before = 0;
    int fd;

    (void)snprintf(path, sizeof path, "%s/reached", w->folder);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || pread(fd, &before, sizeof before, 0) < 0 ||
        (now && pwrite(fd, now, sizeof *now, 0) < 0))
        _exit(91);
    (void)close(fd);
    return before;
}

static bool is_sync(const struct worker *w)
{
    return !(w->world.flags & EDDIS_WORLD_SEVERAL);
}

/* What all ranks have taken on their own is summed up. */
static void gather(struct worker *w)
{
    struct eddis_error err = { 0 };

    if (is_sync(w))
        return;
    check(eddis_allreduce(w->e, w->own, N_SUMS, EDDIS_FLOAT64, EDDIS_SUM, EDDIS_FOREVER, &err),
          &err);
    for (int i = 0; i < N_SUMS; i++) {
        w->sum[i] += w->own[i];
        w->own[i] = 0;
    }
}

static void save(struct worker *w)
{
    struct eddis_error err = { 0 };
    struct eddis_checkpoint *c;
    int rc;

    check(eddis_checkpoint_begin(w->e, NULL, &c, &err), &err);
    gather(w);
    (void)eddis_checkpoint_put(c, "sum", w->sum, sizeof w->sum, &err); /* commit says it again */
    moment(w, "checkpoint");
    rc = eddis_checkpoint_commit(c, 0, &err);
    if (rc != -ENOSPC)
        check(rc, &err);
    if (w->world.rank == 0)
        tell(w, "%s %.0f", rc ? "could not save" : "saved", w->sum[TAKEN]);
}

static bool told_last(const struct worker *w)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/last", w->folder);
    return !w->epochs && !w->world.rank && !access(path, F_OK);
}

/* Where ranks do not wait for each other each takes its device's time, so that all take part. */
static void pace(const struct worker *w, int64_t count)
{
    double s = w->world.emulated_fixed_s + w->world.emulated_sample_s * (double)count;

    if (!is_sync(w))
        (void)nanosleep(
            &(struct timespec){ .tv_sec = (time_t)s, .tv_nsec = (long)((s - floor(s)) * 1e9) },
            NULL);
}

/* A step has ended: its samples, all of them or this rank's own. */
static void account(struct worker *w, const struct eddis_step *s, const double *own,
                    const double *g)
{
    if (is_sync(w)) {
        for (int i = 0; i < TAKEN; i++)
            w->sum[i] = round(w->sum[i] + g[i] * (double)s->batch);
        w->sum[TAKEN] += (double)s->batch;
    } else {
        for (int i = 0; i < TAKEN; i++)
            w->own[i] = round(w->own[i] + own[i] * (double)s->count);
        w->own[TAKEN] += (double)s->count;
    }
}

/* One step; returns whether there are more. */
static bool step(struct worker *w, int64_t *here)
{
    struct eddis_error err = { 0 };
    struct eddis_step s = { .size = sizeof s };
    static int64_t index[SAMPLES];
    double *g = eddis_gradient(w->e, w->parameter), own[TAKEN] = { 0 };
    int more = eddis_step_begin(w->e, &s, &err);

    check(more, &err);
    if (!more)
        return false;
    if (*here == 0 && w->world.rank == 0)
        tell(w, "generation %d begins at %.0f of %.0f", w->world.generation, w->sum[TAKEN],
             reached(w, NULL));
    check(eddis_sample_indices(w->e, &s, index, &err), &err);
    for (int64_t i = 0; i < s.count; i++) {
        own[VALUES] += (double)(index[i] + 1) / (double)s.count;
        own[SQUARES] += (double)(index[i] + 1) * (double)(index[i] + 1) / (double)s.count;
    }
    g[0] = own[VALUES];
    g[1] = own[SQUARES];
    g[2] = told_last(w);
    pace(w, s.count);
    check(eddis_announce(w->e, w->parameter, NULL, NULL, &err), &err);
    ++*here;
    if (*here == STEP || *here == OVERLAP)
        moment(w, *here == STEP ? "step" : "overlap");
    check(eddis_wait(w->e, EDDIS_FOREVER, &err), &err);
    account(w, &s, own, g);
    if (w->world.rank == 0)
        (void)reached(w, &w->sum[TAKEN]);
    check(eddis_step_end(w->e, NULL, &err), &err);
    if (s.flags & EDDIS_STEP_CHECKPOINT)
        save(w);
    if (!(s.flags & EDDIS_STEP_END_OF_EPOCH) || g[2] <= 0)
        return true;
    w->epochs = s.epoch + 1;
    return false;
}

/* Whether each sample was taken once an epoch. */
static bool right(const struct worker *w)
{
    const double n = SAMPLES, epochs = (double)w->epochs;
    const double want[2] = { epochs * n * (n + 1) / 2, epochs * n * (n + 1) * (2 * n + 1) / 6 };

    if (w->sum[0] == want[0] && w->sum[1] == want[1]) {
        tell(w, "accounts are right");
        return true;
    }
    tell(w, "accounts are wrong: %.0f and %.0f, not %.0f and %.0f", w->sum[0], w->sum[1], want[0],
         want[1]);
    return false;
}

int main(int argc, char **argv)
{
    struct worker w = { .folder = argc > 1 ? argv[1] : ".",
                        .epochs = argc > 2 ? atoll(argv[2]) : 1 };
    struct eddis_error err = { 0 };
    int64_t here = 0;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    read_reported(&w);
    moment(&w, "launch");
    join(&w);
    resume(&w);
    while (step(&w, &here))
        ;
    gather(&w);
    check(eddis_close(w.e, &err), &err);
    moment(&w, "shutdown");
    return right(&w) ? 0 : 92;
}
