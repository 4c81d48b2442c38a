/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - a rank for the tests of a node: MPI and the progress board, without libeddis
 *
 *     worker STEPS [RANK STEP HOW]     STEPS 0: until it is killed
 *
 * With HOW this rank comes to grief behind that many steps: "exit 7", "signal 11", or "block".
 *
 * Says "up", then a line for each new plan, and "done".
 */
#include "lib/base/clock.h"
#include "lib/board/board.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t see_plan(struct board *b, int rank, int64_t seen)
{
    static int64_t batch[BOARD_MAX_RANKS];
    struct board_plan plan = { .batch = batch };
    int64_t newest = board_newest(b);

    if (newest == seen || board_plan_get(b, newest, &plan, NULL) < 0)
        return seen;
    printf("plan %lld batch %lld of %lld\n", (long long)newest, (long long)plan.batch[rank],
           (long long)plan.global_batch);
    fflush(stdout);
    return newest;
}

/* 2: computing, 3: waiting, as enum eddis_phase. */
static void set_phase(struct board *b, int phase)
{
    struct board_page *page = board_begin(b);

    page->phase = phase;
    page->phase_ns = clock_now_ns();
    board_end(b);
}

static void publish(struct board *b, int64_t seen, int64_t step, int64_t began_ns)
{
    struct board_page *page = board_begin(b);
    struct board_step *s = &page->ring[step % BOARD_RING];
    int64_t now = clock_now_ns();

    *s = (struct board_step){ .step = step, .count = 5, .plan = seen, .end_ns = now };
    s->t.compute_ns = s->t.total_ns = now - began_ns;
    page->steps_done = step + 1;
    page->steps_here++;
    page->step_plan = seen;
    page->samples_done += 5;
    page->sum.compute_ns += s->t.compute_ns;
    page->sum.total_ns += s->t.total_ns;
    page->loss = 1.0 / (double)(step + 1);
    page->has_loss = 1;
    strcpy(page->metric[0].name, "test accuracy");
    page->metric[0].value = 0.5;
    board_end(b);
}

static void come_to_grief(const char *how)
{
    const char *number = strchr(how, ' ');

    fflush(stdout);
    if (strncmp(how, "exit", 4) == 0)
        _exit(atoi(number));
    if (strncmp(how, "signal", 6) == 0) {
        (void)signal(atoi(number), SIG_DFL); /* not to be told by a sanitizer instead */
        raise(atoi(number));
    }
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    int64_t steps = argc > 1 ? atoll(argv[1]) : 0, seen = 0;
    const char *local = getenv("LOCAL_RANK");
    struct eddis_error err = { 0 };
    struct board *b;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (board_open(getenv("EDDIS_BOARD"), atoi(local), &b, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        MPI_Abort(MPI_COMM_WORLD, 9);
    }
    puts("up");
    fflush(stdout);
    for (int64_t step = 0; steps == 0 || step < steps; step++) {
        int64_t began = clock_now_ns();
        int one = 1, sum = 0;

        seen = see_plan(b, rank, seen);
        set_phase(b, 3);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != size)
            MPI_Abort(MPI_COMM_WORLD, 8);
        set_phase(b, 2);
        clock_sleep_until_ns(began + CLOCK_MS);
        publish(b, seen, step, began);
        if (argc > 4 && rank == atoi(argv[2]) && step + 1 == atoll(argv[3]))
            come_to_grief(argv[4]);
    }
    board_close(b);
    MPI_Finalize();
    puts("done");
    return 0;
}
