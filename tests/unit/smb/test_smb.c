/* SPDX-License-Identifier: Apache-2.0 */
/* test_smb.c - what an implementation of the Soft Memory Box must do (its points are the tests'
 * names), on the in-process loop with seeded orders of messages.
 */
#include "boxes.h"

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "suite.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* Ranks, ranks a node, servers: shared memory alone, messages alone, and both; more servers than
 * are asked at a time.
 */
static const struct {
    int n, per_node, servers;
} layouts[] = { { 1, 1, 0 }, { 4, 4, 0 }, { 4, 1, 0 }, { 4, 2, 0 },
                { 6, 2, 1 }, { 5, 2, 2 }, { 7, 1, 0 } };

enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static struct boxes w;

static void tear_down(void)
{
    if (w.loop)
        boxes_close(&w);
    w = (struct boxes){ 0 };
}

/* As boxes_open, in the place of those before. */
static void open_boxes(int n, int per_node, int servers, uint64_t seed)
{
    tear_down();
    boxes_open(&w, n, per_node, servers, seed);
}

static void open_layout(int i, uint64_t seed)
{
    open_boxes(layouts[i].n, layouts[i].per_node, layouts[i].servers, seed);
}

static smb_key create(int rank, enum comm_type type, size_t n)
{
    struct smb_request r = { .kind = SMB_CREATE, .type = type, .n = n };

    ck_assert_msg(boxes_do(&w, rank, &r) == 0, "%s", r.error.text);
    ck_assert_uint_ne(r.key.id, 0);
    return r.key;
}

static void attach(int rank, smb_key key)
{
    struct smb_request r = { .kind = SMB_ATTACH, .key = key };

    ck_assert_msg(boxes_do(&w, rank, &r) == 0, "%s", r.error.text);
}

static void attach_others(int but, smb_key key)
{
    for (int i = 0; i < w.n; i++)
        if (i != but)
            attach(i, key);
}

static int detach(int rank, smb_key key)
{
    struct smb_request r = { .kind = SMB_DETACH, .key = key };

    return boxes_do(&w, rank, &r);
}

static void move(int rank, enum smb_kind kind, smb_key key, void *data, size_t first, size_t count)
{
    struct smb_request r = {
        .kind = kind, .key = key, .data = data, .first = first, .count = count
    };

    ck_assert_msg(boxes_do(&w, rank, &r) == 0, "%s", r.error.text);
}

START_TEST(smb_1_create_gives_a_key_and_others_attach_by_it)
{
    smb_key a, b;

    open_layout(_i, 3);
    a = create(0, COMM_FLOAT32, 5000);
    b = create(w.n - 1, COMM_FLOAT64, 3);
    ck_assert_uint_ne(a.id, b.id);
    for (int i = 1; i < w.n; i++) {
        struct smb_request r = { .kind = SMB_ATTACH, .key = a };

        ck_assert_int_eq(boxes_do(&w, i, &r), 0);
        ck_assert_int_eq(r.type, COMM_FLOAT32);
        ck_assert_uint_eq(r.n, 5000);
    }
}
END_TEST

START_TEST(smb_2_read_and_write_by_offset)
{
    enum { N = 200000 }; /* several pieces */
    static double x[N], y[N];
    uint64_t random = 5;
    smb_key key;

    open_layout(_i, 11);
    key = create(0, COMM_FLOAT64, N);
    attach_others(0, key);
    move(w.n - 1, SMB_READ, key, y, 0, N);
    memset(x, 0, sizeof x);
    ck_assert_mem_eq(x, y, sizeof x); /* zeros at first */
    for (int i = 0; i < 12; i++) {
        size_t first = random_below(&random, N), count = random_below(&random, N - first + 1);

        for (size_t j = first; j < first + count; j++)
            x[j] = random_unit(&random);
        move(i % w.n, SMB_WRITE, key, x + first, first, count);
        first = random_below(&random, N);
        count = random_below(&random, N - first + 1);
        move((i + 1) % w.n, SMB_READ, key, y, first, count);
        ck_assert_mem_eq(y, x + first, count * sizeof *x);
    }
}
END_TEST

/* Accumulates of all ranks into one buffer at a time; each is done when it says so. */
START_TEST(smb_3_accumulate_adds_one_buffer_to_another)
{
    enum { N = 30000 };
    static int64_t x[BOXES_MAX][N], sum[N];
    struct smb_request r[BOXES_MAX];
    smb_key key, own[BOXES_MAX];

    open_layout(_i, 13);
    key = create(0, COMM_INT64, N);
    attach_others(0, key);
    for (int i = 0; i < w.n; i++) {
        for (int j = 0; j < N; j++)
            x[i][j] = (i + 1) * 1000003 + j;
        own[i] = create(i, COMM_INT64, N);
        move(i, SMB_WRITE, own[i], x[i], 0, N);
        r[i] = (struct smb_request){ .kind = SMB_ACCUMULATE, .key = key, .source = own[i] };
    }
    for (int i = 0; i < w.n; i++)
        boxes_start(&w, i, &r[i]);
    for (int i = 0; i < w.n; i++) {
        boxes_finish(&w, &r[i]);
        ck_assert_int_eq(r[i].rc, 0);
    }
    move(w.n / 2, SMB_READ, key, sum, 0, N);
    for (int j = 0; j < N; j++) {
        int64_t want = 0;

        for (int i = 0; i < w.n; i++)
            want += x[i][j];
        if (sum[j] != want)
            ck_abort_msg("element %d is %lld", j, (long long)sum[j]);
    }
}
END_TEST

/* A notice comes after a write or an accumulate, on all stripes, and after a plain one. */
START_TEST(smb_4_notices)
{
    enum { N = 9000 };
    static float x[N], y[N];
    smb_key key;
    uint64_t version = 0;

    open_layout(_i, 17);
    key = create(0, COMM_FLOAT32, N);
    attach_others(0, key);
    for (int round = 1; round <= 4; round++) {
        struct smb_request wait = { .kind = SMB_WAIT, .key = key, .version = version };
        struct smb_request write = { .kind = SMB_WRITE, .key = key, .data = x, .count = N };
        struct smb_request plain = { .kind = SMB_NOTIFY, .key = key };

        boxes_start(&w, w.n - 1, &wait);
        for (int i = 0; i < 200; i++)
            boxes_step(&w);
        ck_assert(!wait.done);
        for (int j = 0; j < N; j++)
            x[j] = (float)round;
        boxes_start(&w, 0, round < 4 ? &write : &plain);
        boxes_finish(&w, &wait);
        ck_assert_int_eq(wait.rc, 0);
        ck_assert_uint_eq(wait.version, (uint64_t)round);
        version = wait.version;
        if (round < 4) {
            move(w.n - 1, SMB_READ, key, y, 0, N);
            ck_assert_mem_eq(x, y, sizeof x);
        }
        boxes_finish(&w, round < 4 ? &write : &plain);
    }
}
END_TEST

START_TEST(smb_5_freed_with_the_last_user)
{
    struct smb_request late = { .kind = SMB_ATTACH };
    smb_key key;
    float x = 1;

    open_layout(_i, 19);
    key = create(0, COMM_FLOAT32, 100000);
    attach_others(0, key);
    ck_assert_int_eq(detach(0, key), 0); /* its maker is a user like others */
    for (int i = 1; i < w.n; i++) {
        move(i, SMB_READ, key, &x, 99999, 1);
        ck_assert_int_eq(detach(i, key), 0);
    }
    late.key = key;
    ck_assert_int_eq(boxes_do(&w, 0, &late), -ENOENT);
    ck_assert_msg(strstr(late.error.text, "last user has left"), "%s", late.error.text);
    for (int i = 0; i < 3000; i++) /* more than the box holds at a time */
        ck_assert_int_eq(detach(i % w.n, create(i % w.n, COMM_INT64, 1)), 0);
}
END_TEST

/* n writers x k accumulates of ones give exactly n k, in any order of messages. */
START_TEST(smb_6_n_writers_k_accumulates)
{
    enum { N = 5000, K = 5 };
    static float ones[N], sum[N];

    for (int j = 0; j < N; j++)
        ones[j] = 1;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct smb_request r[BOXES_MAX][K];
        smb_key key, own[BOXES_MAX];

        open_layout(_i, seed);
        key = create(0, COMM_FLOAT32, N);
        attach_others(0, key);
        for (int i = 0; i < w.n; i++) {
            own[i] = create(i, COMM_FLOAT32, N);
            move(i, SMB_WRITE, own[i], ones, 0, N);
        }
        for (int k = 0; k < K; k++)
            for (int i = 0; i < w.n; i++) {
                r[i][k] =
                    (struct smb_request){ .kind = SMB_ACCUMULATE, .key = key, .source = own[i] };
                boxes_start(&w, i, &r[i][k]);
            }
        for (int i = 0; i < w.n; i++)
            for (int k = 0; k < K; k++) {
                boxes_finish(&w, &r[i][k]);
                ck_assert_int_eq(r[i][k].rc, 0);
            }
        move(0, SMB_READ, key, sum, 0, N);
        for (int j = 0; j < N; j++)
            if (sum[j] != (float)(w.n * K)) /* an assertion is a system call */
                ck_abort_msg("element %d is %g", j, (double)sum[j]);
    }
}
END_TEST

/* Requests of a rank to a buffer are carried out in the order of their start. */
START_TEST(order_of_a_rank_is_kept)
{
    enum { N = 4000, K = 6 };
    static float x[K][N], y[K][N];
    static struct smb_request write[K], read[K]; /* the box may know them until it is closed */
    smb_key key;

    open_layout(_i, 23);
    key = create(0, COMM_FLOAT32, N);
    attach_others(0, key);
    for (int k = 0; k < K; k++) {
        for (int j = 0; j < N; j++)
            x[k][j] = (float)(k + 1);
        write[k] = (struct smb_request){ .kind = SMB_WRITE, .key = key, .data = x[k], .count = N };
        read[k] = (struct smb_request){ .kind = SMB_READ, .key = key, .data = y[k], .count = N };
        boxes_start(&w, w.n - 1, &write[k]);
        boxes_start(&w, w.n - 1, &read[k]);
    }
    for (int k = 0; k < K; k++)
        boxes_finish(&w, &read[k]);
    ck_assert_mem_eq(x, y, sizeof x);
}
END_TEST

/* The counter gives every number once, and shares taken from it cover the target. */
START_TEST(shared_counter_1_and_2_fetch_and_add_of_shares)
{
    enum { TARGET = 400 };
    bool seen[TARGET + 16 * BOXES_MAX] = { false };
    struct smb_request r[BOXES_MAX];
    smb_key key;
    int taken = 0, running;

    open_layout(_i, 29);
    key = create(0, COMM_INT64, 4);
    attach_others(0, key);
    for (int i = 0; i < w.n; i++) {
        r[i] = (struct smb_request){ .kind = SMB_FETCH_ADD, .key = key, .first = 2, .add = i + 1 };
        boxes_start(&w, i, &r[i]);
    }
    do { /* each takes shares of its own size until the target is reached */
        running = 0;
        for (int i = 0; i < w.n; i++) {
            ck_assert_int_ge(r[i].rc, 0);
            if (r[i].user)
                continue;
            running++;
            if (!r[i].done)
                continue;
            for (int64_t j = r[i].value; j < r[i].value + i + 1; j++) {
                ck_assert_msg(!seen[j], "%d was given twice", (int)j);
                seen[j] = true;
                taken++;
            }
            if (r[i].value >= TARGET) {
                r[i].user = &w;
                continue;
            }
            r[i].deadline_ns = 0;
            boxes_start(&w, i, &r[i]);
        }
        boxes_step(&w);
    } while (running);
    ck_assert_int_ge(taken, TARGET);
    for (int j = 0; j < taken; j++)
        ck_assert(seen[j]); /* without a gap */
}
END_TEST

START_TEST(smb2_1_one_buffer_on_several_servers)
{
    enum { N = 10000 };
    static float x[N], y[N];

    for (int servers = 1; servers <= 4; servers++) {
        smb_key key;

        open_boxes(8, 2, servers, 31);
        key = create(3, COMM_FLOAT32, N);
        attach_others(3, key);
        for (int j = 0; j < N; j++)
            x[j] = (float)j;
        move(5, SMB_WRITE, key, x + 1000, 1000, 8000); /* across all borders */
        move(0, SMB_READ, key, y, 1000, 8000);
        ck_assert_mem_eq(x + 1000, y, 8000 * sizeof *x);
    }
}
END_TEST

/* All give a notice and wait for as many as they are: nobody passes before the last has come, and
 * then everybody reads what all had written.
 */
START_TEST(smb2_2_a_synchronisation_call_on_the_buffer)
{
    struct smb_request notice[BOXES_MAX], wait[BOXES_MAX];
    double x[BOXES_MAX];
    smb_key data, gate;

    open_layout(_i, 47);
    data = create(0, COMM_FLOAT64, (size_t)w.n);
    gate = create(w.n - 1, COMM_INT64, 1);
    attach_others(0, data);
    attach_others(w.n - 1, gate);
    for (int round = 1; round <= 6; round++) {
        for (int k = 1; k <= w.n; k++) {
            int i = (round + k) % w.n;
            double value = 100 * round + i;

            move(i, SMB_WRITE, data, &value, (size_t)i, 1);
            notice[i] = (struct smb_request){ .kind = SMB_NOTIFY, .key = gate };
            wait[i] = (struct smb_request){ .kind = SMB_WAIT,
                                            .key = gate,
                                            .version = (uint64_t)(w.n * round - 1) };
            for (int j = 0; j < 200; j++)
                boxes_step(&w);
            for (int j = 1; j < k; j++)
                ck_assert(!wait[(round + j) % w.n].done);
            boxes_start(&w, i, &notice[i]);
            boxes_start(&w, i, &wait[i]);
        }
        for (int i = 0; i < w.n; i++) {
            boxes_finish(&w, &notice[i]);
            boxes_finish(&w, &wait[i]);
            ck_assert_int_eq(wait[i].rc, 0);
            move(i, SMB_READ, data, x, 0, (size_t)w.n);
            for (int j = 0; j < w.n; j++)
                ck_assert(x[j] == 100 * round + j);
        }
    }
}
END_TEST

/* ---- bad use: one sentence, and nobody hangs ---- */

static void expect(int rank, struct smb_request *r, int rc, const char *words)
{
    ck_assert_int_eq(boxes_do(&w, rank, r), rc);
    ck_assert_msg(strstr(r->error.text, words), "%s", r->error.text);
    ck_assert_int_eq(r->error.code, rc);
}

START_TEST(bad_use_is_one_sentence)
{
    smb_key a, b, c;
    float x[8] = { 0 };
    int last;

    open_layout(_i, 37);
    last = w.n - 1;
    a = create(last, COMM_FLOAT32, 8);
    b = create(last, COMM_FLOAT32, 9);
    c = create(last, COMM_FLOAT64, 8);
    expect(last, &(struct smb_request){ .kind = SMB_ATTACH, .key.id = 12345 }, -ENOENT,
           "no buffer has the key 3039");
    expect(last, &(struct smb_request){ .kind = SMB_ATTACH }, -ENOENT, "never made");
    expect(last, &(struct smb_request){ .kind = SMB_READ, .key.id = 5, .data = x, .count = 1 },
           -EINVAL, "is not attached to");
    expect(last,
           &(struct smb_request){ .kind = SMB_READ, .key = a, .data = x, .first = 7, .count = 2 },
           -EINVAL, "2 elements from element 7 on");
    expect(last,
           &(struct smb_request){
               .kind = SMB_WRITE, .key = a, .data = x, .first = 1, .count = SIZE_MAX },
           -EINVAL, "has 8");
    expect(last, &(struct smb_request){ .kind = SMB_READ, .key = a, .count = 1 }, -EINVAL, "NULL");
    expect(last, &(struct smb_request){ .kind = SMB_ACCUMULATE, .key = a, .source = b }, -EINVAL,
           "9 float32");
    expect(last, &(struct smb_request){ .kind = SMB_ACCUMULATE, .key = a, .source = c }, -EINVAL,
           "8 float64");
    expect(last, &(struct smb_request){ .kind = SMB_ACCUMULATE, .key = a, .source = a }, -EINVAL,
           "to itself");
    expect(last, &(struct smb_request){ .kind = SMB_ACCUMULATE, .key = a, .source.id = 9 }, -EINVAL,
           "not attached");
    expect(last, &(struct smb_request){ .kind = SMB_FETCH_ADD, .key = a, .add = 1 }, -EINVAL,
           "only int64");
    expect(last, &(struct smb_request){ .kind = SMB_CREATE, .type = COMM_UINT8, .n = 4 }, -EINVAL,
           "only float32");
    expect(last, &(struct smb_request){ .kind = SMB_CREATE, .type = COMM_FLOAT32 }, -EINVAL,
           "0 elements");
    ck_assert_int_eq(detach(last, a), 0);
    expect(last, &(struct smb_request){ .kind = SMB_DETACH, .key = a }, -EINVAL, "not attached");
}
END_TEST

/* A wait that nobody ends, ends at its deadline, and later ones are not disturbed. */
START_TEST(deadlines_end_requests)
{
    struct smb_request wait = { .kind = SMB_WAIT }, add = { .kind = SMB_FETCH_ADD, .add = 1 };

    open_layout(_i, 41);
    wait.key = add.key = create(0, COMM_INT64, 1);
    attach_others(0, wait.key);
    for (int i = 0; i < 3; i++) {
        wait.deadline_ns = boxes_now_ns(&w) + CLOCK_S;
        ck_assert_int_eq(boxes_do(&w, w.n - 1, &wait), -ETIMEDOUT);
        ck_assert_msg(strstr(wait.error.text, "no notice"), "%s", wait.error.text);
        ck_assert_int_eq(boxes_do(&w, w.n - 1, &add), 0);
        ck_assert_int_eq(add.value, i);
    }
}
END_TEST

/* Requests given up at any moment keep no memory of the caller and break nothing. */
START_TEST(requests_given_up_are_harmless)
{
    enum { N = 150000 };
    uint64_t random = 43;
    smb_key key, own;

    open_layout(_i, 43);
    key = create(0, COMM_FLOAT32, N);
    attach_others(0, key);
    own = create(w.n - 1, COMM_FLOAT32, N);
    for (int i = 0; i < 60; i++) {
        static const enum smb_kind kinds[] = { SMB_READ, SMB_WRITE, SMB_ACCUMULATE };
        struct smb_request r = { .kind = kinds[i % 3], .key = key, .source = own, .count = N };

        r.data = calloc(N, sizeof(float));
        r.deadline_ns = boxes_now_ns(&w) + 1 + (int64_t)random_below(&random, 4 * CLOCK_MS);
        boxes_do(&w, w.n - 1, &r);
        ck_assert(r.rc == 0 || r.rc == -ETIMEDOUT);
        free(r.data);
    }
    for (int i = 0; i < 40; i++) {
        struct smb_request r = { .kind = SMB_CREATE, .type = COMM_FLOAT32, .n = N };

        if (i % 2)
            r = (struct smb_request){ .kind = SMB_ATTACH, .key = own };
        r.deadline_ns = boxes_now_ns(&w) + 1 + (int64_t)random_below(&random, 2 * CLOCK_MS);
        if (boxes_do(&w, 0, &r) == 0)
            ck_assert_int_eq(detach(0, r.key), 0);
    }
}
END_TEST

/* Nobody is told of data that never came. */
START_TEST(a_write_given_up_gives_no_notice)
{
    enum { N = 4000000 };
    struct smb_request before = { .kind = SMB_NOTIFY }, after = { .kind = SMB_NOTIFY };
    struct smb_request write = { .kind = SMB_WRITE, .count = N };

    open_layout(_i, 59);
    before.key = after.key = write.key = create(0, COMM_FLOAT32, N);
    attach_others(0, write.key);
    ck_assert_int_eq(boxes_do(&w, w.n - 1, &before), 0);
    write.data = calloc(N, sizeof(float));
    write.deadline_ns = boxes_now_ns(&w) + 1;
    boxes_do(&w, w.n - 1, &write);
    ck_assert(write.rc == -ETIMEDOUT || layouts[_i].n == layouts[_i].per_node);
    free(write.data);
    ck_assert_int_eq(boxes_do(&w, w.n - 1, &after), 0);
    ck_assert_uint_eq(after.version, before.version + 1 + (write.rc == 0));
}
END_TEST

static void move_by_few(enum smb_kind kind, smb_key key, float *data, size_t n)
{
    const int few = 4 * 4; /* an order, its answer and two pieces */
    struct smb_request r = { .kind = kind, .key = key, .data = data, .count = n };
    int before = w.end[0]->under_way;

    boxes_start(&w, 0, &r);
    ck_assert_int_eq(w.end[0]->under_way - before, few);
    while (!r.done) {
        ck_assert_int_le(w.end[0]->under_way - before, few);
        boxes_step(&w);
    }
    ck_assert_int_eq(r.rc, 0);
    boxes_finish(&w, &r);
}

/* Who asks all servers at once gets more at once than the link, and what is before it, can take. */
START_TEST(moves_ask_few_servers_at_a_time)
{
    enum { NODES = 12, N = NODES * 500000 };
    float *data = calloc(N, sizeof *data), *got = calloc(N, sizeof *got);
    smb_key key;

    for (int i = 0; i < N; i++)
        data[i] = (float)(i % 8191);
    open_boxes(NODES, 1, 0, 51);
    key = create(0, COMM_FLOAT32, N);
    move_by_few(SMB_WRITE, key, data, N);
    move_by_few(SMB_READ, key, got, N);
    ck_assert_mem_eq(got, data, N * sizeof *data);
    free(data);
    free(got);
}
END_TEST

/* Who waits for messages only may sleep until one comes in. */
START_TEST(memory_is_awaited_only_where_it_changes)
{
    enum { N = 1000000 };
    float *data = calloc(N, sizeof *data);
    struct smb_request write = { .kind = SMB_WRITE, .data = data, .count = N };
    struct smb_request notice = { .kind = SMB_WAIT }, given = { .kind = SMB_NOTIFY };
    bool slept = false, looked = false;
    smb_key key;

    open_boxes(3, 2, 1, 53);
    key = write.key = notice.key = given.key = create(0, COMM_FLOAT32, N);
    attach_others(0, key);
    boxes_start(&w, 2, &write);
    while (!write.done) {
        ck_assert(!smb_awaits_memory(w.box[2]));
        slept |= smb_polls(w.box[0]) && !smb_awaits_memory(w.box[0]);
        looked |= slept && smb_awaits_memory(w.box[0]); /* a piece that is not written yet */
        boxes_step(&w);
    }
    ck_assert(slept && looked);
    boxes_finish(&w, &write);
    boxes_do(&w, 1, &given);
    notice.version = given.version;
    boxes_start(&w, 2, &notice);
    for (int i = 0; i < 20; i++)
        boxes_step(&w);
    ck_assert(smb_polls(w.box[2]) && !smb_awaits_memory(w.box[2]));
    ck_assert(smb_awaits_memory(w.box[0])); /* rank 1 gives it in its memory */
    boxes_do(&w, 1, &given);
    boxes_finish(&w, &notice);
    ck_assert_int_eq(notice.rc, 0);
    free(data);
}
END_TEST

START_TEST(more_servers_than_nodes_are_refused)
{
    int node_of[] = { 0, 0, 1, 1 };
    struct smb_options o = { .node_of = node_of, .n_servers = 3 };
    struct eddis_error err = { 0 };
    struct smb *b;

    o.place = (struct comm_place){ .rank = 1, .n_ranks = 4, .channel = COMM_BOX };
    ck_assert_int_eq(smb_open(&o, &b, &err), -EINVAL);
    ck_assert_str_eq(
        err.text,
        "3 servers were requested, but there can be only one per node, and there are 2 nodes");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_loop_test(tc, smb_1_create_gives_a_key_and_others_attach_by_it, 0, LAYOUTS);
    tcase_add_loop_test(tc, smb_2_read_and_write_by_offset, 0, LAYOUTS);
    tcase_add_loop_test(tc, smb_3_accumulate_adds_one_buffer_to_another, 0, LAYOUTS);
    tcase_add_loop_test(tc, smb_4_notices, 0, LAYOUTS);
    tcase_add_loop_test(tc, smb_5_freed_with_the_last_user, 0, LAYOUTS);
    tcase_add_loop_test(tc, smb_6_n_writers_k_accumulates, 0, LAYOUTS);
    tcase_add_loop_test(tc, order_of_a_rank_is_kept, 0, LAYOUTS);
    tcase_add_loop_test(tc, shared_counter_1_and_2_fetch_and_add_of_shares, 0, LAYOUTS);
    tcase_add_test(tc, smb2_1_one_buffer_on_several_servers);
    tcase_add_loop_test(tc, smb2_2_a_synchronisation_call_on_the_buffer, 0, LAYOUTS);
    tcase_add_loop_test(tc, bad_use_is_one_sentence, 0, LAYOUTS);
    tcase_add_loop_test(tc, deadlines_end_requests, 0, LAYOUTS);
    tcase_add_loop_test(tc, requests_given_up_are_harmless, 0, LAYOUTS);
    tcase_add_loop_test(tc, a_write_given_up_gives_no_notice, 0, LAYOUTS);
    tcase_add_test(tc, moves_ask_few_servers_at_a_time);
    tcase_add_test(tc, memory_is_awaited_only_where_it_changes);
    tcase_add_test(tc, more_servers_than_nodes_are_refused);
}

SUITE_MAIN("smb", add_tests)
