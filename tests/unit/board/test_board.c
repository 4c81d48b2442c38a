/* SPDX-License-Identifier: Apache-2.0 */
/* test_board.c - tests of lib/board/board.h */
#include "suite.h"

#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/board/board.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/eddis-board-XXXXXX";
static char path[64];
static struct board *agent;
static struct eddis_error err;

static struct board_area setup_of(int n_ranks, int first_rank, int n_local)
{
    struct board_area a = { .n_ranks = n_ranks, .n_local = n_local, .first_rank = first_rank };

    strcpy(a.mode, "sync");
    strcpy(a.algorithm, "allreduce");
    a.seed = 42;
    return a;
}

static void set_up(void)
{
    struct board_area a = setup_of(6, 2, 3);

    strcpy(folder, "/tmp/eddis-board-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/board", folder);
    ck_assert_msg(board_create(path, &a, &agent, &err) == 0, "%s", err.text);
}

static void tear_down(void)
{
    board_close(agent);
    ck_assert_int_eq(file_remove_tree(folder, NULL), 0);
}

/* A step as libeddis writes it: every field a function of the step, so a torn read shows. */
static void write_step(struct board *b, int64_t step)
{
    struct board_page *p = board_begin(b);
    struct board_step *r = &p->ring[step % BOARD_RING];

    *r = (struct board_step){ .step = step, .count = step + 1, .plan = 1, .end_ns = step * 3 };
    r->t = (struct board_times){ step, step + 1, step + 2, step + 3, 4 * step + 6 };
    p->steps_done = step + 1;
    p->samples_done = step * 7;
    p->bytes_sent = step * 11;
    p->loss = (double)step;
    p->has_loss = 1;
    board_end(b);
}

static void check_page(const struct board_page *p)
{
    int64_t step = p->steps_done - 1;

    if (step < 0)
        return;
    ck_assert_int_eq(p->samples_done, step * 7);
    ck_assert_int_eq(p->bytes_sent, step * 11);
    ck_assert(p->loss == (double)step);
    for (int64_t s = step; s >= 0 && s > step - BOARD_RING; s--) {
        const struct board_step *r = &p->ring[s % BOARD_RING];

        ck_assert_int_eq(r->step, s);
        ck_assert_int_eq(r->count, s + 1);
        ck_assert_int_eq(r->end_ns, s * 3);
        ck_assert_int_eq(r->t.total_ns, 4 * s + 6);
    }
}

START_TEST(life)
{
    struct board *w[3];
    struct board_page p;
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
    ck_assert_int_eq(board_read(agent, 0, &p, NULL), -ENODATA);
    ck_assert_int_eq(board_read(agent, 3, &p, NULL), -EINVAL);
    for (int i = 0; i < 3; i++) {
        ck_assert(!board_all_mapped(agent));
        ck_assert_msg(board_open(path, i, &w[i], &err) == 0, "%s", err.text);
        ck_assert_int_eq(board_setup(w[i])->seed, 42);
        ck_assert_str_eq(board_setup(w[i])->algorithm, "allreduce");
    }
    ck_assert(board_all_mapped(agent));
    ck_assert_int_eq(unlink(path), 0);
    for (int i = 0; i < 3; i++)
        for (int64_t s = 0; s < 200; s++)
            write_step(w[i], s);
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(board_read(agent, i, &p, &err) == 0, "%s", err.text);
        ck_assert_int_eq(p.rank, 2 + i);
        ck_assert_int_eq(p.pid, getpid());
        ck_assert_int_eq(p.plan_since, -1);
        ck_assert_int_eq(p.steps_done, 200);
        check_page(&p);
        check_page(board_own(w[i]));
        board_close(w[i]); /* the last step stays readable */
        ck_assert_int_eq(board_read(agent, i, &p, NULL), 0);
        check_page(&p);
    }
}
END_TEST

/* What was chosen of the communication: seen by the agent, and no step writes it again. */
START_TEST(choice_is_published)
{
    struct comm_choice c = { .shared = 1, .n_order = 2, .order = { 1, 0 }, .reason = "because" };
    struct board *w;
    struct board_page p;

    ck_assert_int_eq(board_open(path, 0, &w, NULL), 0);
    ck_assert_int_eq(board_read(agent, 0, &p, NULL), 0);
    ck_assert_int_eq(p.choice.version, 0);
    for (int version = 1; version <= 2; version++) {
        c.order[0] = (uint16_t)version;
        board_choose(w, &c);
        write_step(w, version);
        ck_assert_int_eq(board_read(agent, 0, &p, NULL), 0);
        ck_assert_int_eq(p.choice.version, version);
        ck_assert_int_eq(p.choice.order[0], version);
        ck_assert_str_eq(p.choice.reason, "because");
    }
    board_close(w);
}
END_TEST

/* steps_done may start anywhere (resume), stand still, and jump by more than the ring holds. */
START_TEST(publishes_every_new_slot)
{
    static const int64_t jumps[] = { 500, 501, 501, 503, 600, 663, 727, 728 };
    struct board *w;
    struct board_page p;

    ck_assert_int_eq(board_open(path, 0, &w, NULL), 0);
    for (size_t j = 0; j < sizeof jumps / sizeof *jumps; j++) {
        struct board_page *own = board_begin(w);

        for (int64_t s = jumps[j] - BOARD_RING; s < jumps[j]; s++) {
            own->ring[s % BOARD_RING].step = s;
            own->ring[s % BOARD_RING].count = s + 1;
        }
        own->ring[(jumps[j] - 1) % BOARD_RING].end_ns = (int64_t)j;
        own->steps_done = jumps[j];
        board_end(w);
        ck_assert_int_eq(board_read(agent, 0, &p, NULL), 0);
        ck_assert_int_eq(p.steps_done, jumps[j]);
        ck_assert_mem_eq(p.ring, own->ring, sizeof p.ring);
    }
    board_close(w);
}
END_TEST

static void plan_fill(struct board_plan *p, int64_t version)
{
    p->version = version;
    p->global_batch = 6 * version;
    p->period = 3 * version;
    for (int i = 0; i < 6; i++)
        p->batch[i] = version;
    for (int i = 0; i < 6 && p->piece; i++)
        p->piece[i] = version + i;
}

static void take_up(struct board *w, int64_t version, int64_t since)
{
    struct board_page *p = board_begin(w);

    p->plan_version = version;
    p->plan_since = since;
    board_end(w);
}

START_TEST(plan_history)
{
    int64_t batch[2][6], piece[2][6];
    struct board_plan p = { .batch = batch[0], .piece = piece[0] };
    struct board_plan got = { .batch = batch[1], .piece = piece[1] };
    struct board *w[3];

    plan_fill(&p, 2);
    ck_assert_int_eq(board_publish(agent, &p, NULL), -EINVAL);
    plan_fill(&p, -1);
    ck_assert_int_eq(board_publish(agent, &p, NULL), -EINVAL);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(board_open(path, i, &w[i], NULL), 0);
    ck_assert_int_eq(board_newest(w[0]), 0);
    ck_assert_int_eq(board_plan_get(w[0], 1, &got, NULL), -ENOENT);
    for (int64_t v = 1; v <= 3; v++) {
        plan_fill(&p, v);
        ck_assert_msg(board_publish(agent, &p, &err) == 0, "%s", err.text);
        ck_assert_int_eq(board_newest(w[2]), v);
    }
    plan_fill(&p, 4);
    ck_assert_int_eq(board_publish(agent, &p, &err), -EBUSY);
    take_up(w[0], 3, 0);
    take_up(w[1], 3, 0);
    take_up(w[2], 3, -1); /* seen, not agreed */
    ck_assert_int_eq(board_publish(agent, &p, NULL), -EBUSY);
    take_up(w[2], 1, 0);
    ck_assert_int_eq(board_publish(agent, &p, NULL), 0);
    for (int64_t v = 1; v <= 4; v++) {
        ck_assert_int_eq(board_plan_get(w[1], v, &got, NULL), 0);
        ck_assert_int_eq(got.version, v);
        ck_assert_int_eq(got.period, 3 * v);
        ck_assert_int_eq(got.batch[5], v);
        ck_assert_int_eq(got.piece[5], v + 5);
    }
    plan_fill(&p, 5);
    ck_assert_int_eq(board_publish(agent, &p, NULL), -EBUSY);
    for (int i = 0; i < 3; i++)
        take_up(w[i], 4, 10);
    p.piece = NULL;
    for (int64_t v = 5; v <= 7; v++) {
        plan_fill(&p, v);
        ck_assert_int_eq(board_publish(agent, &p, NULL), 0);
    }
    ck_assert_int_eq(board_plan_get(w[0], 3, &got, NULL), -ESTALE);
    ck_assert_int_eq(board_plan_get(w[0], 4, &got, NULL), 0);
    ck_assert_int_eq(board_plan_get(w[0], 7, &got, NULL), 0);
    ck_assert_int_eq(got.piece[5], 0);
    ck_assert_int_eq(board_plan_get(w[0], 8, &got, NULL), -ENOENT);
    ck_assert_int_eq(board_plan_get(w[0], -3, &got, NULL), -ENOENT);
    for (int i = 0; i < 3; i++)
        board_close(w[i]);
}
END_TEST

/* Plan 0 leaves the mode open; plan 1 brings it, to those who have mapped the board before. */
START_TEST(mode_is_settled)
{
    int64_t batch[2][6];
    struct board_plan p = { .batch = batch[0] }, got = { .batch = batch[1] };
    int32_t group[] = { 0, 0, 1, 1, 2, 2 }, wrong[] = { 0, 0, 1, 1, 2, 6 };
    struct board_area settled = { .options = { .period = 8, .moving_rate = 0.3 }, .group = wrong };
    struct board *w;

    strcpy(settled.mode, "hybrid");
    strcpy(settled.algorithm, "hsgd");
    plan_fill(&p, 0);
    ck_assert_int_eq(board_publish(agent, &p, NULL), 0);
    ck_assert_int_eq(board_open(path, 0, &w, NULL), 0);
    ck_assert_int_eq(board_newest(w), 0);
    ck_assert_int_eq(board_plan_get(w, 0, &got, NULL), 0);
    ck_assert_int_eq(got.global_batch, p.global_batch);
    plan_fill(&p, 1);
    ck_assert_int_eq(board_settle(agent, &settled, &p, NULL), -EINVAL);
    ck_assert_str_eq(board_setup(agent)->mode, "sync");
    settled.group = group;
    plan_fill(&p, 2);
    ck_assert_int_eq(board_settle(agent, &settled, &p, NULL), -EINVAL);
    plan_fill(&p, 1);
    ck_assert_msg(board_settle(agent, &settled, &p, &err) == 0, "%s", err.text);
    ck_assert_int_eq(board_newest(w), 1);
    ck_assert_str_eq(board_setup(w)->mode, "sync");
    ck_assert_msg(board_take_mode(w, &err) == 0, "%s", err.text);
    ck_assert_str_eq(board_setup(w)->mode, "hybrid");
    ck_assert_str_eq(board_setup(w)->algorithm, "hsgd");
    ck_assert_int_eq(board_setup(w)->options.period, 8);
    ck_assert_mem_eq(board_setup(w)->group, group, sizeof group);
    ck_assert_int_eq(board_setup(w)->node_of[5], 0);
    ck_assert_int_eq(board_plan_get(w, 1, &got, NULL), 0);
    ck_assert_int_eq(board_publish(agent, &p, NULL), -EINVAL);
    plan_fill(&p, 2);
    ck_assert_int_eq(board_settle(agent, &settled, &p, NULL), -EINVAL);
    ck_assert_int_eq(board_publish(agent, &p, NULL), 0);
    board_close(w);
    ck_assert_int_eq(board_open(path, 0, &w, NULL), 0);
    ck_assert_str_eq(board_setup(w)->mode, "hybrid");
    ck_assert_mem_eq(board_setup(w)->group, group, sizeof group);
    board_close(w);
}
END_TEST

/* The memory is sized by the job: the largest has all its ranks' batches, groups and nodes, and a
 * small one has no more than it needs.
 */
START_TEST(many_ranks)
{
    enum { N = BOARD_MAX_RANKS };
    int32_t *node = calloc(2 * N, sizeof *node), *group = node + N;
    int64_t *batch = calloc(2 * N, sizeof *batch);
    struct board_plan p = { .version = 1, .batch = batch }, got = { .batch = batch + N };
    struct board_area a = setup_of(N, N - 2, 2);
    char large[80];
    struct board *b, *w;
    struct stat st;

    for (int i = 0; i < N; i++) {
        node[i] = i / 2;
        group[i] = i % 3;
        p.global_batch += batch[i] = i;
    }
    a.node_of = node;
    a.group = group;
    snprintf(large, sizeof large, "%s/large", folder);
    ck_assert_msg(board_create(large, &a, &b, &err) == 0, "%s", err.text);
    ck_assert_msg(board_publish(b, &p, &err) == 0, "%s", err.text);
    ck_assert_msg(board_open(large, 1, &w, &err) == 0, "%s", err.text);
    ck_assert_mem_eq(board_setup(w)->node_of, node, N * sizeof *node);
    ck_assert_mem_eq(board_setup(w)->group, group, N * sizeof *group);
    ck_assert_int_eq(board_own(w)->rank, N - 1);
    ck_assert_int_eq(board_plan_get(w, 1, &got, NULL), 0);
    ck_assert_int_eq(got.global_batch, p.global_batch);
    ck_assert_mem_eq(got.batch, batch, N * sizeof *batch);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_le(st.st_size, 16384 + 3 * BOARD_PAGE_BYTES);
    board_close(w);
    board_close(b);
    free(batch);
    free(node);
}
END_TEST

START_TEST(create_refuses)
{
    static const int rows[][3] = { { 0, 0, 1 },  { 1, 0, 0 },     { 4, 3, 2 },
                                   { 4, -1, 2 }, { 65537, 0, 1 }, { 1000, 0, 257 } };
    struct board_area good = setup_of(2, 0, 2);
    char other[80];
    struct board *b;

    ck_assert_int_eq(board_create(path, &good, &b, NULL), -EEXIST);
    snprintf(other, sizeof other, "%s/link", folder);
    ck_assert_int_eq(symlink("/tmp/eddis-nowhere", other), 0);
    ck_assert_int_eq(board_create(other, &good, &b, NULL), -EEXIST);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct board_area bad = setup_of(rows[i][0], rows[i][1], rows[i][2]);

        snprintf(other, sizeof other, "%s/new", folder);
        ck_assert_int_eq(board_create(other, &bad, &b, NULL), -EINVAL);
        ck_assert_int_eq(access(other, F_OK), -1);
    }
    memset(good.mode, 'x', sizeof good.mode);
    ck_assert_int_eq(board_create(other, &good, &b, NULL), -EINVAL);
}
END_TEST

/* Overwrite n bytes at an offset of the board's file. */
#define NODE_AT (BOARD_GROUP_AT + 24) /* of six ranks */

static void poke(size_t at, const void *bytes, size_t n)
{
    int fd = open(path, O_RDWR);

    ck_assert_int_eq(pwrite(fd, bytes, n, (off_t)at), (ssize_t)n);
    close(fd);
}

START_TEST(open_refuses_damage)
{
    static const struct {
        size_t at;
        int32_t value;
        int rc;
    } rows[] = {
        { offsetof(struct board_area, magic), 7, -EPROTO },
        { offsetof(struct board_area, version), BOARD_VERSION + 1, -EPROTO },
        { offsetof(struct board_area, version), BOARD_VERSION - 1, -EPROTO },
        { offsetof(struct board_area, version), 0, -EPROTO },
        { offsetof(struct board_area, n_local), 0, -EPROTO },
        { offsetof(struct board_area, n_local), 2, -EPROTO },
        { offsetof(struct board_area, n_local), 4, -EPROTO },
        { offsetof(struct board_area, n_local), INT32_MAX, -EPROTO },
        { offsetof(struct board_area, n_local), -1, -EPROTO },
        { offsetof(struct board_area, n_ranks), 2000000, -EPROTO },
        { offsetof(struct board_area, first_rank), 4, -EPROTO },
        { BOARD_GROUP_AT + 4, 6, -EPROTO },
        { BOARD_GROUP_AT + 4, -1, -EPROTO },
        { BOARD_GROUP_AT + 4, 5, 0 },
        { NODE_AT, 1, -EPROTO },
        { NODE_AT + 20, 2, -EPROTO },
        { NODE_AT + 20, 1, 0 },
        { offsetof(struct board_area, choice.n_order), CHOICE_MAX_ORDER + 1, -EPROTO },
        { offsetof(struct board_area, choice.n_buckets), -1, -EPROTO },
        { offsetof(struct board_area, seed), 99, 0 },
    };
    struct board *w = NULL;

    poke(rows[_i].at, &rows[_i].value, 4);
    ck_assert_int_eq(board_open(path, 0, &w, &err), rows[_i].rc);
    board_close(w);
}
END_TEST

START_TEST(open_refuses_foreign_files)
{
    struct stat st;
    struct board *w;
    const off_t pages = (off_t)board_pages_at(6);
    off_t cut[] = { 0, 1, 7, 100, 4096, pages, pages + 1, 0 };

    ck_assert_int_eq(board_open(path, -1, &w, NULL), -EINVAL);
    ck_assert_int_eq(board_open(path, 3, &w, NULL), -EINVAL);
    ck_assert_int_eq(board_open("/nonexistent/board", 0, &w, NULL), -ENOENT);
    ck_assert_int_eq(board_open("/dev/null", 0, &w, NULL), -EPROTO);
    ck_assert_int_eq(board_open(folder, 0, &w, NULL), -EISDIR);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(truncate(path, st.st_size + 1), 0);
    ck_assert_int_eq(board_open(path, 0, &w, NULL), -EPROTO);
    cut[7] = st.st_size - 1;
    for (size_t i = sizeof cut / sizeof *cut; i-- > 0;) {
        ck_assert_int_eq(truncate(path, cut[i]), 0);
        ck_assert_int_eq(board_open(path, 0, &w, NULL), -EPROTO);
    }
}
END_TEST

/* Whatever a page holds, reading it ends and gives a page or an error. */
START_TEST(read_survives_nonsense)
{
    uint64_t state = 1;
    struct board_page p;
    unsigned char junk[sizeof p];

    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < sizeof junk; i++)
            junk[i] = (unsigned char)((state = state * 6364136223846793005u + 1) >> 56);
        if (round % 3) /* past the first check */
            memcpy(junk, &(uint64_t){ BOARD_MAGIC }, 8);
        poke(board_pages_at(6), junk, sizeof junk);
        ck_assert_int_lt(board_read(agent, 0, &p, &err), 0);
    }
    ck_assert(err.code == -EPROTO || err.code == -EAGAIN);
}
END_TEST

struct racer {
    struct board *b;
    int64_t n;
    bool done;
};

static void *race_writer(void *arg)
{
    struct racer *r = arg;

    for (int64_t s = 0; s < r->n; s++)
        write_step(r->b, s);
    __atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
    return NULL;
}

START_TEST(reader_and_writer_race)
{
    struct racer r = { .n = 200000 };
    struct board_page p;
    pthread_t thread;
    int64_t last = 0, whole = 0;
    bool done;

    ck_assert_int_eq(board_open(path, 1, &r.b, NULL), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, race_writer, &r), 0);
    do {
        int rc;

        done = __atomic_load_n(&r.done, __ATOMIC_ACQUIRE);
        rc = board_read(agent, 1, &p, NULL);
        ck_assert(rc == 0 || rc == -EAGAIN);
        if (rc < 0)
            continue;
        whole++;
        check_page(&p);
        ck_assert_int_ge(p.steps_done, last);
        last = p.steps_done;
    } while (!done);
    pthread_join(thread, NULL);
    ck_assert_int_gt(whole, 0);
    ck_assert_int_eq(last, r.n);
    board_close(r.b);
}
END_TEST

static void *race_planner(void *arg)
{
    struct racer *r = arg;
    int64_t batch[6];
    struct board_plan p = { .batch = batch };

    for (int64_t v = 1; v <= r->n;) {
        plan_fill(&p, v);
        if (board_publish(r->b, &p, NULL) == 0)
            v++;
    }
    return NULL;
}

START_TEST(plans_race)
{
    struct racer r = { .b = agent, .n = 3000 };
    int64_t batch[6];
    struct board_plan got = { .batch = batch };
    struct board *w[3];
    pthread_t thread;
    int whole = 0;

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(board_open(path, i, &w[i], NULL), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, race_planner, &r), 0);
    for (int64_t v = 0; v < r.n;) {
        v = board_newest(w[0]);
        for (int64_t back = 0; back < BOARD_PLANS && v - back > 0; back++) {
            int rc = board_plan_get(w[0], v - back, &got, NULL);

            ck_assert(rc == 0 || rc == -ESTALE || rc == -EAGAIN);
            whole += rc == 0;
            if (rc == 0)
                for (int i = 0; i < 6; i++)
                    ck_assert_int_eq(got.batch[i], v - back);
        }
        for (int i = 0; i < 3; i++)
            take_up(w[i], v, 0);
    }
    pthread_join(thread, NULL);
    ck_assert_int_gt(whole, 0);
    for (int i = 0; i < 3; i++)
        board_close(w[i]);
}
END_TEST

/* A writer that dies inside a write leaves an odd number: the reader says so and goes on. */
START_TEST(writer_killed_in_write)
{
    struct board_page p;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct board *w;
        struct board_page *page;
        int fd = open(path, O_RDWR);

        if (board_open(path, 0, &w, NULL) < 0)
            _exit(1);
        write_step(w, 0);
        page = mmap(NULL, BOARD_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    (off_t)board_pages_at(6));
        page->sequence++;
        page->samples_done = -5;
        raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(board_read(agent, 0, &p, &err), -EAGAIN);
    ck_assert_str_eq(err.text, "the progress page of rank 2 is being written");

    /* Its successor starts with a clean page. */
    struct board *w;

    ck_assert_int_eq(board_open(path, 0, &w, NULL), 0);
    ck_assert_int_eq(board_read(agent, 0, &p, NULL), 0);
    ck_assert_int_eq(p.steps_done, 0);
    ck_assert_int_eq(p.samples_done, 0);
    write_step(w, 0);
    ck_assert_int_eq(board_read(agent, 0, &p, NULL), 0);
    check_page(&p);
    board_close(w);
}
END_TEST

/* Killed anywhere: what is read is whole, or the death hit a write. */
START_TEST(writer_killed_anywhere)
{
    for (int round = 0; round < 20; round++) {
        struct board_page p;
        int rc, status;
        pid_t pid = fork();

        if (pid == 0) {
            struct board *w;

            if (board_open(path, 0, &w, NULL) < 0)
                _exit(1);
            for (int64_t s = 0;; s++)
                write_step(w, s);
        }
        do {
            ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
            rc = board_read(agent, 0, &p, NULL);
        } while (rc < 0 || p.pid != pid || p.steps_done < 100 * round);
        kill(pid, SIGKILL);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        rc = board_read(agent, 0, &p, NULL);
        ck_assert(rc == 0 || rc == -EAGAIN);
        if (rc == 0)
            check_page(&p);
    }
}
END_TEST

START_TEST(page_of_another_process)
{
    int status, ready[2];
    struct board *w;
    char c;
    pid_t pid;

    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (board_open(path, 2, &w, NULL) == 0 && write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    ck_assert_int_eq(board_open(path, 2, &w, &err), -EBUSY);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(board_open(path, 2, &w, NULL), 0);
    board_close(w);
    close(ready[0]);
    close(ready[1]);
}
END_TEST

/* Told from outside it is the worker's all the same, who takes it when he wants it. */
START_TEST(page_from_outside)
{
    struct board *outside, *w;
    struct board_page p;

    ck_assert_int_eq(board_open_output(path, 0, getppid(), &outside, NULL), 0);
    ck_assert(board_is_output(outside));
    board_show_steps(outside, &(struct board_reported){ .step = 4, .now_ns = 1 });
    ck_assert_int_eq(board_read(agent, 0, &p, NULL), 0);
    ck_assert_int_eq(p.pid, getppid());
    ck_assert_int_eq(p.steps_source, BOARD_STEPS_OUTPUT);
    ck_assert_int_eq(p.steps_done, 5);
    for (int i = 1; i < 3; i++) {
        ck_assert_int_eq(board_open(path, i, &w, NULL), 0);
        board_close(w);
    }
    ck_assert(!board_all_mapped(agent)); /* the file is needed still */

    ck_assert_int_eq(board_open(path, 0, &w, NULL), 0);
    ck_assert(!board_is_output(outside));
    ck_assert(board_all_mapped(agent));
    ck_assert_int_eq(board_read(agent, 0, &p, NULL), 0);
    ck_assert_int_eq(p.pid, getpid());
    ck_assert_int_eq(p.steps_done, 0);
    board_show_steps(outside, &(struct board_reported){ .step = 5, .now_ns = 2 }); /* too late */
    board_show_steps(w, &(struct board_reported){ .step = 6, .now_ns = 3 });
    ck_assert_int_eq(board_read(agent, 0, &p, NULL), 0);
    ck_assert_int_eq(p.steps_done, 7);
    ck_assert_int_eq(p.steps_source, BOARD_STEPS_CALLS);
    board_close(outside);
    ck_assert_int_eq(board_open_output(path, 0, getppid(), &outside, NULL), -EBUSY);
    board_close(w);
}
END_TEST

static void show(struct board *w, struct board_page *ret, int64_t step, int64_t compute_ns,
                 int64_t wait_ns)
{
    board_show_steps(w, &(struct board_reported){ .step = step,
                                                  .step_ns = 1000,
                                                  .compute_ns = compute_ns,
                                                  .wait_ns = wait_ns,
                                                  .now_ns = 5000 });
    ck_assert_int_eq(board_read(agent, 0, ret, NULL), 0);
}

/* A report's times are of all its steps, and none of them is longer than their time. */
START_TEST(own_times)
{
    const struct board_times *t;
    struct board_page p;
    struct board *w;

    ck_assert_int_eq(board_open(path, 0, &w, NULL), 0);
    show(w, &p, 0, 300, 600); /* the first report is of a step, too */
    t = &p.ring[0].t;
    ck_assert(p.steps_here == 1 && p.own_times == 1 && p.samples_done == 0);
    ck_assert(t->compute_ns == 300 && t->wait_ns == 600 && t->exposed_ns == 100);
    show(w, &p, 2, 300, 9000);
    t = &p.ring[1].t;
    ck_assert(p.steps_here == 3 && p.ring[1].step == 1 && p.ring[2].step == 2);
    ck_assert(t->total_ns == 500 && t->compute_ns == 150 && t->wait_ns == 350);
    show(w, &p, 3, 2000, 1);
    ck_assert(p.sum.total_ns == 3000 && p.sum.compute_ns == 1600 && p.sum.wait_ns == 1300);
    show(w, &p, 4, 0, 500); /* unknown: all is computing */
    ck_assert(p.own_times == 0 && p.sum.compute_ns == 2600 && p.sum.wait_ns == 1300);
    show(w, &p, 4, 1, INT64_MAX); /* a sign of life */
    ck_assert(p.steps_here == 5 && p.sum.total_ns == 4000);
    board_show_steps(w, &(struct board_reported){
                            .step = 5, .step_ns = INT64_MAX, .compute_ns = 1, .now_ns = 6000 });
    ck_assert_int_eq(board_read(agent, 0, &p, NULL), 0);
    ck_assert(p.ring[5].t.total_ns == 6000 && p.sum.total_ns == 10000);
    board_close(w);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, life);
    tcase_add_test(tc, choice_is_published);
    tcase_add_test(tc, publishes_every_new_slot);
    tcase_add_test(tc, plan_history);
    tcase_add_test(tc, mode_is_settled);
    tcase_add_test(tc, many_ranks);
    tcase_add_test(tc, create_refuses);
    tcase_add_loop_test(tc, open_refuses_damage, 0, 20);
    tcase_add_test(tc, open_refuses_foreign_files);
    tcase_add_test(tc, read_survives_nonsense);
    tcase_add_test(tc, reader_and_writer_race);
    tcase_add_test(tc, plans_race);
    tcase_add_test(tc, writer_killed_in_write);
    tcase_add_test(tc, writer_killed_anywhere);
    tcase_add_test(tc, page_of_another_process);
    tcase_add_test(tc, page_from_outside);
    tcase_add_test(tc, own_times);
}

SUITE_MAIN("board", add_tests)
