/* SPDX-License-Identifier: Apache-2.0 */
/* train_job.c - run a worker program under mpirun with a given plan, as eddis-run does
 *
 *     train_job [-s SEED] [-e A:C] [-g GENERATION] [-c EVERY:DIR] [-k RANK:STEP] [-p FILE]
 *         B0[:PIECE],B1[:PIECE],... COMMAND...
 *
 * Makes a progress board for as many ranks as there are batch sizes, publishes the plan and runs
 * the command.  -e: the workers emulate devices of A seconds + C seconds a sample.  -c: write a
 * checkpoint to DIR after every EVERY steps.  -k: kill -9 this rank when it has done so many steps.
 * -p: communicate as FILE says, which an earlier run has written; without it write it.
 * Afterwards one line a rank tells what its page said:
 *
 *     rank 0 steps 50 samples 900 at_once 18 own_s 0.8 overrun_s 0.001
 *
 * own_s: without what it waited for others.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/spawn.h"
#include "lib/board/board.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(int ok, const char *what, const struct eddis_error *err)
{
    if (ok)
        return;
    fprintf(stderr, "train_job: %s: %s\n", what, err ? err->text : "failed");
    exit(3);
}

/* Fill in the plan's batches and pieces; returns how many there are. */
static int parse_batches(char *text, struct board_plan *plan)
{
    int n = 0;

    for (char *word = strtok(text, ","); word && n < BOARD_MAX_LOCAL; word = strtok(NULL, ",")) {
        char *colon = NULL;

        plan->batch[n] = strtoll(word, &colon, 10);
        plan->piece[n] = *colon ? strtoll(colon + 1, NULL, 10) : 0;
        plan->global_batch += plan->batch[n++];
    }
    return n;
}

static struct board *make_board(const char *path, const struct board_area *setup,
                                const struct board_plan *plan)
{
    struct board *b = NULL;
    struct eddis_error err = { 0 };

    must(board_create(path, setup, &b, &err) == 0, "board", &err);
    must(board_publish(b, plan, &err) == 0, "plan", &err);
    return b;
}

/* Whom to kill, and when. */
struct death {
    int rank; /* -1: nobody */
    int64_t step;
};

/* Wait for mpirun's end; returns its exit code. */
static int watch(pid_t mpirun, const struct board *b, struct death death)
{
    int status = 0;
    pid_t pid;

    while ((pid = waitpid(mpirun, &status, death.rank < 0 ? 0 : WNOHANG)) == 0) {
        struct board_page page;

        if (board_read(b, death.rank, &page, NULL) == 0 && page.steps_done >= death.step) {
            must(kill(page.pid, SIGKILL) == 0, "kill", NULL);
            death.rank = -1;
        }
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS / 10);
    }
    must(pid == mpirun, "mpirun", NULL);
    return spawn_exit_code(status);
}

static pid_t run(int n, char **command, int n_words)
{
    const char *argv[64] = { "mpirun", "--oversubscribe", "--bind-to", "none", "-n" };
    char count[16];
    struct spawn s = { .argv = argv, .in = -1, .out = 1, .err = 2, .parent_death_signal = 15 };
    struct eddis_error err = { 0 };
    pid_t pid = -1;

    (void)snprintf(count, sizeof count, "%d", n);
    argv[5] = count;
    for (int i = 0; i < n_words && i < 57; i++)
        argv[6 + i] = command[i];
    must(spawn_start(&s, &pid, &err) == 0, "mpirun", &err);
    return pid;
}

static void print_pages(const struct board *b, int n)
{
    for (int i = 0; i < n; i++) {
        struct board_page page;
        struct eddis_error err = { 0 };

        if (board_read(b, i, &page, &err) < 0)
            continue;
        printf("rank %d steps %lld samples %lld at_once %lld own_s %.6f overrun_s %.6f\n", i,
               (long long)page.steps_done, (long long)page.samples_done, (long long)page.at_once,
               (double)(page.sum.total_ns - page.sum.wait_ns) / 1e9, (double)page.overrun_ns / 1e9);
    }
}

/* What the command line says. */
struct words {
    double fixed_s, sample_s;
    struct death death;
    const char *choice; /* path; NULL: none */
};

/* What an earlier run has chosen. */
static void read_choice(const char *path, struct comm_choice *ret)
{
    char *text = NULL;
    size_t n;

    if (!path || file_read(path, sizeof *ret, &text, &n, NULL) < 0)
        return;
    must(n == sizeof *ret, "the choice's size", NULL);
    memcpy(ret, text, n);
    free(text);
}

static void write_choice(const char *path, const struct board *b)
{
    struct board_page page;
    struct eddis_error err = { 0 };

    if (!path || board_read(b, 0, &page, &err) < 0)
        return;
    must(file_write_atomic(path, &page.choice, sizeof page.choice, 0600, &err) == 0, "choice",
         &err);
}

static void take_option(int option, struct board_area *setup, struct words *w)
{
    const char *colon = optarg ? strchr(optarg, ':') : NULL;
    bool known = strchr("sgp", option) || (strchr("eck", option) && colon);

    must(known,
         "usage: train_job [-s SEED] [-e A:C] [-g GENERATION] [-c EVERY:DIR] [-k RANK:STEP] "
         "[-p FILE] B0[:PIECE],B1[:PIECE],... COMMAND",
         NULL);
    if (option == 's')
        setup->seed = strtoull(optarg, NULL, 10);
    else if (option == 'p')
        w->choice = optarg;
    else if (option == 'g')
        setup->generation = atoi(optarg);
    else if (option == 'e')
        setup->emulated = sscanf(optarg, "%lf:%lf", &w->fixed_s, &w->sample_s) == 2;
    else if (option == 'k')
        w->death = (struct death){ atoi(optarg), atoll(colon + 1) };
    if (option != 'c')
        return;
    setup->checkpoint_every = atoll(optarg);
    (void)snprintf(setup->checkpoint_dir, sizeof setup->checkpoint_dir, "%s", colon + 1);
}

int main(int argc, char **argv)
{
    static struct board_area setup = { .generation = 1,
                                       .mode = "sync",
                                       .algorithm = "allreduce",
                                       .job = "test",
                                       .checkpoint_keep = 3 };
    static int64_t batch[BOARD_MAX_LOCAL], piece[BOARD_MAX_LOCAL];
    struct board_plan plan = { .version = 1, .batch = batch, .piece = piece };
    char folder[] = "/dev/shm/eddis-test-XXXXXX", path[64];
    struct words w = { .death.rank = -1 };
    struct board *b;
    int code, option;

    while ((option = getopt(argc, argv, "+s:e:g:c:k:p:")) != -1)
        take_option(option, &setup, &w);
    must(argc - optind >= 2, "no batch sizes or no command", NULL);
    setup.n_ranks = setup.n_local = parse_batches(argv[optind], &plan);
    for (int i = 0; i < setup.n_local; i++) {
        setup.fixed_s[i] = w.fixed_s;
        setup.sample_s[i] = w.sample_s;
    }
    read_choice(w.choice, &setup.choice);
    must(mkdtemp(folder) != NULL, "folder", NULL);
    (void)snprintf(path, sizeof path, "%s/board", folder);
    b = make_board(path, &setup, &plan);
    (void)setenv("EDDIS_BOARD", path, 1);
    code = watch(run(setup.n_ranks, argv + optind + 1, argc - optind - 1), b, w.death);
    print_pages(b, setup.n_local);
    write_choice(w.choice, b);
    board_close(b);
    (void)file_remove_tree(folder, NULL);
    return code;
}
