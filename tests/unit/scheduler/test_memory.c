/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - every allocation between a job and a plan that was read back fails once, and
 * those of the search for networks
 *
 * The linker sends our own calls here (--wrap), and jansson's come by its own hook; not while it
 * writes, since jansson 2.14 then leaves out a string instead of failing, and not when it makes
 * place for a longer token, since it then leaves out a character, and aborts if that is the last.
 */
#include "scheduler/networks.h"
#include "scheduler/planner.h"

#include "suite.h"
#include "tests/unit/allocations.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

WRAP_MALLOC
WRAP_CALLOC
WRAP_REALLOC

/* Allocate for jansson. The sizes of its buffer of a token, powers of 2 from 32 on, never fail. */
static void *json_malloc(size_t n)
{
    return n >= 32 && (n & (n - 1)) == 0 ? __real_malloc(n) : __wrap_malloc(n);
}

/* The plan, or NULL when the n-th allocation failed; 0: none does. */
static struct plan *plan_once(long n)
{
    static char word[] = "auto";
    static struct node_profile node;
    struct job job = { .batch = { .global = 64, .min = 1, .grain = 1 },
                       .sync = { .mode = word, .algorithm = word },
                       .communication.wire = word };
    struct eddis_error err = { 0 };
    struct plan *p = NULL;
    int rc;

    node.n_devices = 3;
    for (int i = 0; i < 3; i++) {
        node.device[i] = (struct device){
            .kind = DEVICE_EMULATED, .rate = 1 + i, .fixed_s = 0.001, .sample_s = 0.001
        };
        snprintf(node.device[i].id, sizeof node.device[i].id, "emulated:%d", i);
    }
    snprintf(node.host, sizeof node.host, "n");
    countdown = n; /* Check allocates too: not while it asserts */
    rc = planner_plan(&job, &node, 1, NULL, &p, &err);
    countdown = 0;
    ck_assert_msg(rc == (p ? 0 : -ENOMEM), "%d %s", rc, err.text);
    return p;
}

START_TEST(planning)
{
    struct plan *p = NULL;
    long n;

    for (n = 1; !p; n++)
        p = plan_once(n);
    ck_assert_int_gt(n, 5);
    plan_free(p);
}
END_TEST

START_TEST(there_and_back)
{
    struct plan *p = plan_once(0), *q = NULL;
    char *text = NULL;
    int rc;

    for (long n = 1; !text && n < 5000; n++) {
        countdown = n;
        text = plan_text(p);
        countdown = 0;
    }
    json_set_alloc_funcs(json_malloc, free);
    for (long n = 1; !q && n < 5000; n++) {
        countdown = n;
        rc = plan_parse(text, strlen(text), "plan", &q, NULL);
        countdown = 0;
        ck_assert((rc == 0) == (q != NULL));
    }
    ck_assert_msg(q != NULL, "%s", text);
    ck_assert_int_eq(q->n_workers, 3);
    plan_free(p);
    plan_free(q);
    free(text);
}
END_TEST

/* One node alone, and two on a network. */
START_TEST(networks)
{
    const struct network_address address[] = { { "eth0", "10.1.0.1", 24, 1000, false, NULL },
                                               { "eth0", "10.1.0.2", 24, 1000, false, NULL } };
    const struct network_node node[] = { { "a", &address[0], 1, "10.1.0.1" },
                                         { "b", &address[1], 1, "10.1.0.2" } };

    for (int n_nodes = 1; n_nodes <= 2; n_nodes++) {
        int rc = -1;

        for (long n = 1; rc < 0; n++) {
            struct networks found = { 0 };
            struct eddis_error err = { 0 };

            countdown = n;
            rc = networks_find(node, n_nodes, "auto", &found, &err);
            countdown = 0;
            ck_assert_msg(rc == 0 || (rc == -ENOMEM && strstr(err.text, "no memory")), "%ld: %d %s",
                          n, rc, err.text);
            networks_fini(&found);
        }
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, planning);
    tcase_add_test(tc, there_and_back);
    tcase_add_test(tc, networks);
}

SUITE_MAIN("memory", add_tests)
