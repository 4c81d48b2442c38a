/* SPDX-License-Identifier: Apache-2.0 */
/* test_other_launcher.c - tests of cmd/run/request/other_launcher.h */
#include "cmd/run/request/other_launcher.h"

#include "suite.h"

#include <string.h>

enum { MOST_WORDS = 12 };

/* Find the launcher of a command whose words are separated by single spaces. */
static bool find(const char *line, struct other_launcher *ret)
{
    char text[256], *word[MOST_WORDS + 1] = { NULL }, *rest = NULL;

    strcpy(text, line);
    word[0] = strtok_r(text, " ", &rest);
    for (int i = 1; i < MOST_WORDS && word[i - 1]; i++)
        word[i] = strtok_r(NULL, " ", &rest);
    return other_launcher_find(word, ret);
}

/* Commands, what in them is the launcher, and what to write instead. */
static const struct {
    const char *line, *words, *instead;
} told[] = {
    { "torchrun train.py", "torchrun", "python3 train.py" },
    { "bin/torchrun --nnodes=2 a/train.py --lr 1", "bin/torchrun", "bin/python3 a/train.py ..." },
    { "torchrun --module pack", "torchrun", "python3 -m pack" },
    { "torchrun --no-python ./prog 3", "torchrun", "" },
    { "torchrun", "torchrun", "" },
    { "/v/python -u -m torch.distributed.launch x.py", "/v/python -u -m torch.distributed.launch",
      "/v/python x.py" },
    { "accelerate launch --num_processes 2 x.py", "accelerate launch", "python3 x.py" },
    { "accelerate launch x.py --num_processes 1", "accelerate launch", "python3 x.py ..." },
    { "mpirun -n 4 python3 x.py", "mpirun", "python3 x.py" },
    { "python3 -W ignore -X dev -m torch.distributed.run x.py",
      "python3 -W ignore -X dev -m torch.distributed.run", "python3 x.py" },
};

START_TEST(finds)
{
    struct other_launcher l;

    ck_assert(find(told[_i].line, &l));
    ck_assert_str_eq(l.words, told[_i].words);
    ck_assert_str_eq(l.instead, told[_i].instead);
    ck_assert(l.never == (strcmp(l.words, "mpirun") == 0));
}
END_TEST

/* Other programs, and a launcher that starts one process. */
static const char *const others[] = {
    "python3 torchrun",
    "python3 -m pack torch.distributed.run",
    "python3 -u",
    "accelerate",
    "accelerate test",
    "accelerate launch --num_processes 1 x.py",
    "accelerate launch --cpu --num-processes=1 x.py",
    "./torchrun.sh x.py",
    "fabric",
};

START_TEST(finds_none)
{
    struct other_launcher l;

    ck_assert(!find(others[_i], &l));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, finds, 0, sizeof told / sizeof *told);
    tcase_add_loop_test(tc, finds_none, 0, sizeof others / sizeof *others);
}

SUITE_MAIN("other_launcher", add_tests)
