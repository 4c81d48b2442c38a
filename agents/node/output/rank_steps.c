/* SPDX-License-Identifier: Apache-2.0 */
/* rank_steps.c - writes the steps that a rank's program prints to its progress page */
#include "rank_steps.h"

#include "step_lines.h"

#include "lib/base/clock.h"
#include "lib/board/board.h"

#include <errno.h>
#include <stdlib.h>

struct rank_steps {
    struct step_lines *lines;
    int64_t samples;     /* samples of this rank in a step */
    pid_t pid;           /* pid of the program; 0: not started */
    struct board *board; /* NULL before the first step */
    bool own;            /* the program writes its page itself */
};

/* Store the board's path, borrowed, and the local rank from the variables that libeddis uses.
 * Return false if they are not set.
 */
static bool page_of(const char **ret_board, int *ret_rank)
{
    const char *board = getenv("EDDIS_BOARD"), *rank = getenv("EDDIS_LOCAL_RANK");

    if (!rank || !*rank)
        rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    if (!board || !*board || !rank)
        return false;
    *ret_board = board;
    *ret_rank = atoi(rank);
    return true;
}

/* Check whether this process may write the progress page (s->board), and open it if needed.  If the
 * program writes the page itself, close it, set s->own, and return false from then on.
 */
static bool has_page(struct rank_steps *s)
{
    const char *path;
    int rank;

    if (s->board && !board_is_output(s->board)) {
        board_close(s->board);
        s->board = NULL;
        s->own = true;
    }
    if (!s->board && !s->own && s->pid > 0 && page_of(&path, &rank))
        s->own = board_open_output(path, rank, s->pid, &s->board, NULL) == -EBUSY;
    return s->board != NULL;
}

/* Write a step to the progress page, if this process may write it (step_lines_fn; ctx is the struct
 * rank_steps).
 */
static void show(void *ctx, int64_t steps, int64_t since, int64_t total)
{
    struct rank_steps *s = ctx;
    int64_t samples;

    if (__builtin_mul_overflow(since, s->samples, &samples))
        samples = 0;
    if (!has_page(s))
        return;
    board_show_steps(s->board, &(struct board_reported){ .step = steps - 1,
                                                         .samples = samples,
                                                         .total = total,
                                                         .now_ns = clock_now_ns() });
}

int rank_steps_open(const char *pattern, int64_t samples, struct rank_steps **ret,
                    struct eddis_error *err)
{
    struct rank_steps *s = calloc(1, sizeof *s);
    int rc;

    if (!s)
        return eddis_fail(err, -ENOMEM, "no memory for a rank's steps");
    s->samples = samples;
    rc = step_lines_open(pattern, show, s, &s->lines, err);
    if (rc < 0) {
        free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

void rank_steps_feed(struct rank_steps *s, pid_t pid, const char *data, size_t n, int64_t now_ns)
{
    s->pid = pid;
    step_lines_feed(s->lines, data, n, now_ns);
}

void rank_steps_close(struct rank_steps *s)
{
    if (!s)
        return;
    step_lines_close(s->lines);
    board_close(s->board);
    free(s);
}

bool rank_steps_left(void)
{
    const char *board;
    int rank;

    return page_of(&board, &rank) && board_left(board, rank);
}
