/* SPDX-License-Identifier: Apache-2.0 */
/* train_job.c - run a worker program under mpirun with a given plan, as eddis-run does
 *
 *     train_job [-s SEED] [-e A:C] B0,B1,... COMMAND...
 *
 * Makes a progress board for as many ranks as there are batch sizes, publishes the plan and runs
 * the command.  -e: the workers imitate devices of A seconds + C seconds a sample.  Afterwards one
 * line a rank tells what its page said:
 *
 *     rank 0 steps 50 samples 900 total_s 0.8 overrun_s 0.001
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/spawn.h"
#include "lib/board/board.h"

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

/* Fill in the plan's batches; returns how many there are. */
static int parse_batches(char *text, struct board_plan *plan)
{
    int n = 0;

    for (char *word = strtok(text, ","); word && n < BOARD_MAX_LOCAL; word = strtok(NULL, ",")) {
        plan->batch[n] = strtoll(word, NULL, 10);
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

static int run(int n, char **command, int n_words)
{
    const char *argv[64] = { "mpirun", "--oversubscribe", "--bind-to", "none", "-n" };
    char count[16];
    struct spawn s = { .argv = argv, .in = -1, .out = 1, .err = 2, .parent_death_signal = 15 };
    struct eddis_error err = { 0 };
    pid_t pid = -1;
    int status = 0;

    (void)snprintf(count, sizeof count, "%d", n);
    argv[5] = count;
    for (int i = 0; i < n_words && i < 57; i++)
        argv[6 + i] = command[i];
    must(spawn_start(&s, &pid, &err) == 0, "mpirun", &err);
    must(waitpid(pid, &status, 0) == pid, "mpirun", NULL);
    return spawn_exit_code(status);
}

static void print_pages(const struct board *b, int n)
{
    for (int i = 0; i < n; i++) {
        struct board_page page;
        struct eddis_error err = { 0 };

        if (board_read(b, i, &page, &err) < 0)
            continue;
        printf("rank %d steps %lld samples %lld total_s %.6f overrun_s %.6f\n", i,
               (long long)page.steps_done, (long long)page.samples_done,
               (double)page.sum.total_ns / 1e9, (double)page.overrun_ns / 1e9);
    }
}

int main(int argc, char **argv)
{
    static struct board_area setup = { .generation = 1, .mode = "sync", .algorithm = "allreduce" };
    static struct board_plan plan = { .version = 1 };
    char folder[] = "/dev/shm/eddis-test-XXXXXX", path[64];
    double fixed_s = 0, sample_s = 0;
    struct board *b;
    int code, option;

    while ((option = getopt(argc, argv, "+s:e:")) != -1) {
        if (option == 's')
            setup.seed = strtoull(optarg, NULL, 10);
        else if (option == 'e')
            setup.emulated = sscanf(optarg, "%lf:%lf", &fixed_s, &sample_s) == 2;
    }
    must(argc - optind >= 2, "usage: train_job [-s SEED] [-e A:C] B0,B1,... COMMAND", NULL);
    setup.n_ranks = setup.n_local = parse_batches(argv[optind], &plan);
    for (int i = 0; i < setup.n_local; i++) {
        setup.fixed_s[i] = fixed_s;
        setup.sample_s[i] = sample_s;
    }
    must(mkdtemp(folder) != NULL, "folder", NULL);
    (void)snprintf(path, sizeof path, "%s/board", folder);
    b = make_board(path, &setup, &plan);
    (void)setenv("EDDIS_BOARD", path, 1);
    code = run(setup.n_ranks, argv + optind + 1, argc - optind - 1);
    print_pages(b, setup.n_local);
    board_close(b);
    (void)file_remove_tree(folder, NULL);
    return code;
}
