/* SPDX-License-Identifier: Apache-2.0 */
/* opener.c - a rank that takes its time between eddis_open and eddis_commit, until which nobody
 * knows how many samples it has
 *
 *     opener FOLDER LATE PARAMETERS [STOP]
 *
 * Rank LATE (-1: none) commits when there is a file "go" in FOLDER.  With 0 PARAMETERS there is
 * nothing to synchronise, with -1 nobody commits at all.  Says in which mode the job is.
 * Behind eddis_commit all add up numbers, more than a message between hosts usually holds.
 *
 * In step STOP rank 1 calls eddis_stop.  With a file "stay" in FOLDER the ranks wait for "go"
 * behind their last step; with "finish" they look whether there is another one, and call
 * eddis_finish.  With "external" the program combines its gradients itself.
 */
#include "lib/base/clock.h"
#include "lib/eddis.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 16, STEPS = 20, MANY = 8192 };

static void must(int rc, const char *what, const struct eddis_error *err)
{
    if (rc >= 0)
        return;
    (void)printf("%s: %s\n", what, err->text);
    exit(3);
}

static void say_mode(const struct eddis *e)
{
    struct eddis_world w = { .size = sizeof w };

    must(eddis_world(e, &w), "world", NULL);
    (void)printf("mode %s\n", w.mode);
    (void)fflush(stdout);
}

static bool exists(const char *folder, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void wait_for_go(const char *folder)
{
    while (!exists(folder, "go"))
        clock_sleep_until_ns(clock_now_ns() + 10 * CLOCK_MS);
}

static void register_parameters(struct eddis *e, float *value, int n)
{
    struct eddis_error err = { 0 };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { N },
                                 .value = value,
                                 .result = EDDIS_IN_PLACE };
    int layer = eddis_add_layer(e, "all", EDDIS_LAYER_OTHER, &err);

    must(layer, "layer", &err);
    for (int i = 0; i < n; i++)
        must(eddis_add_parameter(e, layer, &p, &err), "parameter", &err);
}

static void add_up(struct eddis *e, int n_ranks)
{
    static float x[MANY];
    struct eddis_error err = { 0 };

    for (int i = 0; i < MANY; i++)
        x[i] = 1;
    must(eddis_allreduce(e, x, MANY, EDDIS_FLOAT32, EDDIS_SUM, 600 * CLOCK_S, &err), "all-reduce",
         &err);
    for (int i = 0; i < MANY; i++)
        if (x[i] != (float)n_ranks)
            exit(5);
}

/* As eddis_step_begin. */
static int begin(struct eddis *e, bool finishes, struct eddis_step *s, struct eddis_error *err)
{
    static int64_t next;
    int rc = finishes ? eddis_plan_step(e, next, 600 * CLOCK_S, s, err) : 1;

    next++;
    if (rc == 0)
        return eddis_finish(e, 600 * CLOCK_S, err);
    return rc < 0 ? rc : eddis_step_begin(e, s, err);
}

static void train(struct eddis *e, int parameters, int stop, bool finishes)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int rc;

    while ((rc = begin(e, finishes, &s, &err)) == 1) {
        if (s.step == stop)
            must(eddis_stop(e), "stop", NULL);
        for (int i = 0; i < parameters; i++)
            must(eddis_announce(e, i, EDDIS_ZERO, NULL, &err), "announce", &err);
        must(eddis_wait(e, 600 * CLOCK_S, &err), "wait", &err);
        must(eddis_step_end(e, NULL, &err), "end", &err);
    }
    must(rc, "step", &err);
}

int main(int argc, char **argv)
{
    struct eddis_options o = { .size = sizeof o }; /* the data are not known yet */
    struct eddis_world w = { .size = sizeof w };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    float value[N] = { 0 };
    struct eddis *e;
    int late, parameters;

    if (argc < 4 || argc > 5)
        return 2;
    late = atoi(argv[2]);
    parameters = atoi(argv[3]);
    if (exists(argv[1], "external"))
        o.gradients = "torch";
    must(eddis_open(&o, &e, &err), "open", &err);
    must(eddis_world(e, &w), "world", &err);
    say_mode(e);
    if (strcmp(w.mode, "auto") == 0 && eddis_plan_step(e, 0, EDDIS_FOREVER, &s, &err) != -EAGAIN)
        return 4;
    if (parameters >= 0) {
        register_parameters(e, value, parameters);
        if (w.rank == late)
            wait_for_go(argv[1]);
        must(eddis_set_data(e, (int64_t)64 * STEPS, 1, &err), "data", &err);
        must(eddis_commit(e, &err), "commit", &err);
        say_mode(e);
        add_up(e, w.n_ranks);
        train(e, o.gradients ? 0 : parameters, argc == 5 && w.rank == 1 ? atoi(argv[4]) : -1,
              exists(argv[1], "finish"));
        if (exists(argv[1], "stay")) {
            (void)printf("no step is left\n");
            (void)fflush(stdout);
            wait_for_go(argv[1]);
        }
    }
    must(eddis_close(e, &err), "close", &err);
    return 0;
}
