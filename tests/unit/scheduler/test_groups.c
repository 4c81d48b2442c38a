/* SPDX-License-Identifier: Apache-2.0 */
/* test_groups.c - tests of scheduler/groups.h */
#include "scheduler/groups.h"

#include "suite.h"

#include <errno.h>
#include <string.h>

enum { MAX = 16 };

static const struct {
    const char *what;
    int n;
    struct group_worker w[MAX];
    int64_t wanted;
    int n_groups;
    int group[MAX];
} rows[] = {
    { "one worker", 1, { { 0, 5 } }, 0, 1, { 0 } },
    { "two on a node", 2, { { 0, 5 }, { 0, 5 } }, 0, 1, { 0, 0 } },
    { "nodes of several",
      5,
      { { 0, 1 }, { 0, 9 }, { 1, 1 }, { 2, 3 }, { 2, 1 } },
      0,
      3,
      { 0, 0, 1, 2, 2 } },
    { "nodes whose numbers have gaps", 3, { { 1, 1 }, { 1, 9 }, { 7, 1 } }, 0, 2, { 0, 0, 1 } },
    { "one worker a node: by speed",
      4,
      { { 0, 1 }, { 1, 9 }, { 2, 8 }, { 3, 2 } },
      0,
      2,
      { 1, 0, 0, 1 } },
    { "one node: by speed, ties in order of rank",
      9,
      { { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 5 }, { 0, 5 }, { 0, 5 }, { 0, 9 }, { 0, 9 }, { 0, 9 } },
      0,
      3,
      { 2, 2, 2, 1, 1, 1, 0, 0, 0 } },
    { "a number is of like speed whatever the nodes",
      4,
      { { 0, 1 }, { 0, 9 }, { 1, 8 }, { 1, 2 } },
      2,
      2,
      { 1, 0, 0, 1 } },
    { "runs that cannot be equal",
      5,
      { { 0, 5 }, { 0, 4 }, { 0, 3 }, { 0, 2 }, { 0, 1 } },
      2,
      2,
      { 0, 0, 0, 1, 1 } },
};

/* Store the first choice of groups in group [n]. Return the number of groups, or -EINVAL. */
static int first_of(const struct group_worker *w, int n, const struct job_groups *wanted,
                    const int *began_as, int *group, struct eddis_error *err)
{
    cleanup_groups struct groups_choices c;
    int rc = groups_list(w, n, wanted, began_as, INT64_MAX, &c, err);

    if (rc < 0)
        return rc;
    memcpy(group, groups_choice(&c, 0), (size_t)n * sizeof *group);
    return c.groups[0];
}

START_TEST(hsgd_4_groups_are_nodes_or_of_like_speed)
{
    struct job_groups wanted = { .n = rows[_i].wanted };
    int group[MAX];

    ck_assert_int_eq(first_of(rows[_i].w, rows[_i].n, &wanted, NULL, group, NULL),
                     rows[_i].n_groups);
    for (int r = 0; r < rows[_i].n; r++)
        ck_assert_msg(group[r] == rows[_i].group[r], "%s: rank %d is in %d", rows[_i].what, r,
                      group[r]);
}
END_TEST

START_TEST(takes_what_is_given)
{
    struct group_worker w[3] = { { 0, 1 }, { 0, 2 }, { 0, 3 } };
    int of[] = { 1, 0, 1 }, group[3];
    struct job_groups wanted = { .n = 2, .of = of, .n_of = 3 };
    cleanup_groups struct groups_choices c;
    struct eddis_error err;

    ck_assert_int_eq(first_of(w, 3, &wanted, NULL, group, NULL), 2);
    ck_assert_int_eq(memcmp(group, of, sizeof of), 0);
    ck_assert_int_eq(groups_list(w, 3, &wanted, NULL, 3, &c, NULL), 0);
    ck_assert_int_eq(c.n_rounds, 2);
    ck_assert_int_eq(memcmp(c.rounds, of, sizeof of), 0);
    ck_assert_int_eq(first_of(w, 2, &wanted, NULL, group, &err), -EINVAL);
    ck_assert_str_eq(err.text, "sync.groups names 3 ranks, but there are 2 workers");
    wanted = (struct job_groups){ .n = 4 };
    ck_assert_int_eq(first_of(w, 3, &wanted, NULL, group, &err), -EINVAL);
    ck_assert_str_eq(err.text, "sync.groups is 4, but there are 3 workers");
}
END_TEST

/* After a restart with fewer workers: these are ranks 1, 3 and 4 of the five there were. */
START_TEST(takes_what_is_left_of_what_is_given)
{
    struct group_worker w[3] = { { 0, 1 }, { 1, 2 }, { 1, 3 } };
    int of[] = { 0, 2, 0, 1, 2 }, began_as[] = { 1, 3, 4 }, group[3];
    struct job_groups wanted = { .n = 3, .of = of, .n_of = 5 };

    ck_assert_int_eq(first_of(w, 3, &wanted, began_as, group, NULL), 2);
    ck_assert(group[0] == 1 && group[1] == 0 && group[2] == 1);
    wanted = (struct job_groups){ .n = 4 };
    ck_assert_int_eq(first_of(w, 3, &wanted, began_as, group, NULL), 3);
    ck_assert(group[0] == 2 && group[1] == 1 && group[2] == 0);
}
END_TEST

/* Each choice numbers its groups without gaps, and has as many as it says. */
START_TEST(choices_are_groups)
{
    for (int nodes = 1; nodes <= 40; nodes += 3)
        for (int per_node = 1; per_node <= 4; per_node += 3) {
            struct group_worker w[160];
            struct job_groups open = { 0 };
            cleanup_groups struct groups_choices c;
            int n = nodes * per_node;

            for (int i = 0; i < n; i++)
                w[i] = (struct group_worker){ i / per_node, 1 + i * 7 % 5 };
            ck_assert_int_eq(groups_list(w, n, &open, NULL, 20, &c, NULL), 0);
            ck_assert_int_ge(c.n, n > 2 ? 2 : 1);
            /* In rounds each node is a group, or each worker. */
            ck_assert_int_eq(c.n_rounds, nodes > 1 ? nodes : n);
            for (int i = 0; i < n; i++)
                ck_assert_int_eq(c.rounds[i], nodes > 1 ? i / per_node : i);
            for (int k = 0; k < c.n; k++) {
                const int *group = groups_choice(&c, k);
                int members[160] = { 0 };

                ck_assert(k == 0 || (c.groups[k] >= 2 && c.groups[k] <= 20));
                for (int i = 0; i < n; i++)
                    members[group[i]]++;
                for (int g = 0; g < n; g++)
                    ck_assert((members[g] > 0) == (g < c.groups[k]));
            }
        }
}
END_TEST

/* A group's sum stays, and no sample of it would be done sooner elsewhere in the group. */
START_TEST(hsgd_4_batches_are_balanced_inside)
{
    struct split_worker w[4] = { { { 0, 0.001 }, 1, INT64_MAX },
                                 { { 0, 0.002 }, 1, INT64_MAX },
                                 { { 0, 0.001 }, 1, INT64_MAX },
                                 { { 0.01, 0.004 }, 1, INT64_MAX } };
    int group[] = { 0, 0, 1, 1 };
    int64_t batch[] = { 30, 60, 10, 40 };

    ck_assert_int_eq(groups_balance(w, group, 4, 1, batch, NULL), 0);
    ck_assert_int_eq(batch[0], 60);
    ck_assert_int_eq(batch[1], 30);
    ck_assert_int_eq(batch[2] + batch[3], 50);
    for (int from = 2; from < 4; from++) {
        int to = from == 2 ? 3 : 2;
        double now = time_model_s(&w[from].t, batch[from]);

        if (now >= time_model_s(&w[to].t, batch[to]))
            ck_assert(time_model_s(&w[to].t, batch[to] + 1) >= now);
    }
}
END_TEST

/* However a group's ranks lie among the others'. */
START_TEST(balance_of_ranks_in_any_order)
{
    struct split_worker w[5] = { { { 0, 0.001 }, 1, INT64_MAX },
                                 { { 0, 0.001 }, 1, INT64_MAX },
                                 { { 0, 0.003 }, 1, INT64_MAX },
                                 { { 0, 0.004 }, 1, INT64_MAX },
                                 { { 0, 0.001 }, 1, INT64_MAX } };
    int group[] = { 2, 0, 2, 0, 1 };
    int64_t batch[] = { 10, 5, 30, 45, 7 };
    static const int64_t want[] = { 30, 40, 10, 10, 7 };

    ck_assert_int_eq(groups_balance(w, group, 5, 1, batch, NULL), 0);
    ck_assert_mem_eq(batch, want, sizeof want);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, hsgd_4_groups_are_nodes_or_of_like_speed, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_test(tc, takes_what_is_given);
    tcase_add_test(tc, takes_what_is_left_of_what_is_given);
    tcase_add_test(tc, choices_are_groups);
    tcase_add_test(tc, hsgd_4_batches_are_balanced_inside);
    tcase_add_test(tc, balance_of_ranks_in_any_order);
}

SUITE_MAIN("groups", add_tests)
