/* SPDX-License-Identifier: Apache-2.0 */
/* board.c - nanoseconds to write a step to the progress board, beside the bound of 1 us
 *
 * A progress page is updated as libeddis does at the end of a step: counters, loss, sums, one slot
 * of the ring.  There are three cases: alone; while an agent reads the page as fast as it can,
 * thousands of times more often than a real one; and with the caches as a step's own work leaves
 * them, by walking through 4 MB before each write.  The results are medians of interleaved rounds.
 */
#include "lib/board/board.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/json.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 9, STEPS = 200000, COLD_STEPS = 300, COLD_BYTES = 4 << 20, BOUND_NS = 1000 };

struct bench {
    struct board *agent, *worker;
    unsigned char *cold; /* [COLD_BYTES] */
    int64_t step;
    atomic_int reading, stop;
    int64_t reads;
};

struct result {
    double alone_ns, read_ns, cold_ns;
};

/* Write one step to the worker's page. */
static void write_step(struct bench *b)
{
    struct board_page *p = board_begin(b->worker);
    int64_t step = b->step++;
    struct board_step *r = &p->ring[step % BOARD_RING];
    int64_t jitter = step & 1023;

    r->step = step;
    r->count = 94;
    r->plan = 1;
    r->end_ns = step * 11000000;
    r->t = (struct board_times){ jitter, 9000000 + jitter, 1000000, 500000, 10500000 + 2 * jitter };
    p->steps_done = step + 1;
    p->samples_done += r->count;
    p->asked_step = step + 1;
    p->bytes_sent += 40960;
    p->loss = 1.0 / (double)(step + 1);
    p->has_loss = 1;
    p->sum.input_ns += r->t.input_ns;
    p->sum.compute_ns += r->t.compute_ns;
    p->sum.exposed_ns += r->t.exposed_ns;
    p->sum.wait_ns += r->t.wait_ns;
    p->sum.total_ns += r->t.total_ns;
    board_end(b->worker);
}

/* Read the page again and again while b->reading is set; the reader's thread. */
static void *read_all_the_time(void *arg)
{
    struct bench *b = arg;
    struct board_page page;

    while (!atomic_load(&b->stop)) {
        if (atomic_load(&b->reading))
            b->reads += board_read(b->agent, 0, &page, NULL) == 0;
        else
            clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    }
    return NULL;
}

/* Return the mean ns of writing STEPS steps in a row. */
static double per_step_ns(struct bench *b)
{
    int64_t start = clock_now_ns();

    for (int i = 0; i < STEPS; i++)
        write_step(b);
    return (double)(clock_now_ns() - start) / STEPS;
}

/* Return the mean ns of a write after the caches were overwritten.  The clock's own cost, which is
 * similar, is subtracted.
 */
static double cold_step_ns(struct bench *b)
{
    int64_t sum_ns = 0, clock_ns = 0;

    for (int i = 0; i < COLD_STEPS; i++) {
        int64_t start, middle;

        for (size_t k = 0; k < COLD_BYTES; k += 64)
            b->cold[k]++;
        start = clock_now_ns();
        middle = clock_now_ns();
        write_step(b);
        sum_ns += clock_now_ns() - middle;
        clock_ns += middle - start;
    }
    return (double)(sum_ns - clock_ns) / COLD_STEPS;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x)
{
    qsort(x, ROUNDS, sizeof *x, by_size);
    return x[ROUNDS / 2];
}

/* Return the medians of all three cases. */
static struct result measure(struct bench *b)
{
    double alone[ROUNDS], read[ROUNDS], cold[ROUNDS];

    per_step_ns(b); /* warm-up */
    for (int i = 0; i < ROUNDS; i++) {
        alone[i] = per_step_ns(b);
        cold[i] = cold_step_ns(b);
        atomic_store(&b->reading, 1);
        read[i] = per_step_ns(b);
        atomic_store(&b->reading, 0);
    }
    return (struct result){ median(alone), median(read), median(cold) };
}

/* Create a board for one worker, opened both as an agent and as the worker; its file is removed at
 * once.
 */
static int open_board(struct bench *b, struct eddis_error *err)
{
    struct board_area setup = { .n_ranks = 1, .n_local = 1 };
    char path[64];
    int rc;

    snprintf(path, sizeof path, "/dev/shm/eddis-bench-board-%d", (int)getpid());
    rc = board_create(path, &setup, &b->agent, err);
    if (rc < 0)
        return rc;
    rc = board_open(path, 0, &b->worker, err);
    (void)unlink(path);
    return rc;
}

/* Print the results as a table, or as JSON. */
static void print(const struct result *r, const struct bench *b, bool json)
{
    double worst = r->alone_ns > r->cold_ns ? r->alone_ns : r->cold_ns;
    cleanup_json json_t *o = NULL;
    char *text;

    if (!json) {
        printf(
            "write of a step to the progress board, median of %d rounds (wanted: below 1000 ns)\n"
            "  alone                  %6.0f ns\n"
            "  caches as work leaves  %6.0f ns\n"
            "  agent reads all along  %6.0f ns   (%lld whole reads)\n",
            ROUNDS, r->alone_ns, r->cold_ns, r->read_ns, (long long)b->reads);
        return;
    }
    o = json_pack("{s:i, s:s, s:i, s:f, s:f, s:f, s:i, s:f, s:f}", "schema_version", 1, "bench",
                  "board", "rounds", ROUNDS, "alone_ns", r->alone_ns, "cold_ns", r->cold_ns,
                  "read_ns", r->read_ns, "bound_ns", BOUND_NS, "ratio_bound", BOUND_NS / worst,
                  "ratio_bound_while_read", BOUND_NS / r->read_ns);
    text = o ? json_text(o, false) : NULL;
    if (text)
        puts(text);
    free(text);
}

int main(int argc, char **argv)
{
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    struct bench b = { .cold = calloc(1, COLD_BYTES) };
    struct eddis_error err;
    struct result r;
    pthread_t reader;

    if (argc > 2 || (argc == 2 && !json)) {
        fputs("usage: board [--json]\n", stderr);
        return 2;
    }
    if (!b.cold || open_board(&b, &err) < 0 ||
        pthread_create(&reader, NULL, read_all_the_time, &b) != 0) {
        fprintf(stderr, "board: %s\n", b.cold ? err.text : "no memory");
        return 1;
    }
    r = measure(&b);
    atomic_store(&b.stop, 1);
    pthread_join(reader, NULL);
    print(&r, &b, json);
    board_close(b.worker);
    board_close(b.agent);
    free(b.cold);
    return 0;
}
