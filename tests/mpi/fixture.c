/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.c - prints and counts failed checks; parameters, steps and checkpoints with each result
 * checked
 */
#include "fixture.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PRINTED = 100 }; /* failures, of as many as there are */

static atomic_int failures;
static int exit_code;
static _Thread_local int own_rank = -1;

void check_set_rank(int rank)
{
    own_rank = rank;
}

void check_set_exit(int code)
{
    exit_code = code;
}

void check_failed(const char *file, int line, const char *what, const char *format, ...)
{
    char words[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof words, format, args);
    va_end(args);
    if (atomic_fetch_add(&failures, 1) < PRINTED)
        fprintf(stderr, "rank %d: %s:%d: %s: %s\n", own_rank, file, line, what, words);
    if (exit_code)
        _exit(exit_code);
}

int check_failures(void)
{
    return atomic_load(&failures);
}

int check_result(void)
{
    int n = check_failures();

    if (n)
        fprintf(stderr, "%d failures\n", n);
    return n != 0;
}

struct eddis_world world_of(struct eddis *e)
{
    struct eddis_world w = { .size = sizeof w };

    CHECK(eddis_world(e, &w) == 0);
    return w;
}

struct eddis_parameter vector_of(void *value, int64_t n)
{
    return (struct eddis_parameter){ .size = sizeof(struct eddis_parameter),
                                     .name = "w",
                                     .dtype = EDDIS_FLOAT32,
                                     .n_dims = 1,
                                     .dims = { n },
                                     .value = value };
}

int add_parameter(struct eddis *e, const struct eddis_parameter *p)
{
    int layer = -1, parameter = -1;

    SUCCEEDS(layer = eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err));
    SUCCEEDS(parameter = eddis_add_parameter(e, layer, p, &err));
    return parameter;
}

int add_vector(struct eddis *e, void *value, int64_t n)
{
    const struct eddis_parameter p = vector_of(value, n);

    return add_parameter(e, &p);
}

int commit_vector(struct eddis *e, void *value, int64_t n)
{
    int parameter = add_vector(e, value, n);

    OK(eddis_commit(e, &err));
    return parameter;
}

static void *stop(void *arg)
{
    CHECK(eddis_stop(arg) == 0);
    return NULL;
}

void stop_by_thread(struct eddis *e)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, stop, e) == 0 && pthread_join(thread, NULL) == 0);
}

struct eddis_collective collective_of(enum eddis_scope scope, enum eddis_collective_kind kind,
                                      void *buffer, size_t n)
{
    return (struct eddis_collective){ .size = sizeof(struct eddis_collective),
                                      .kind = kind,
                                      .scope = scope,
                                      .buffer = buffer,
                                      .n = n,
                                      .dtype = EDDIS_INT64,
                                      .op = EDDIS_SUM };
}

void check_same(struct eddis *e, enum eddis_scope scope, const void *data, size_t bytes)
{
    void *first = malloc(bytes);
    const struct eddis_collective c = collective_of(scope, EDDIS_BROADCAST, first, bytes);

    memcpy(first, data, bytes);
    OK(eddis_collective(e, &c, TIMEOUT_NS, &err));
    CHECK(memcmp(first, data, bytes) == 0, "not as on the first worker");
    free(first);
}

void check_once(struct eddis *e, int32_t *count, size_t n)
{
    size_t wrong = 0, first = 0;

    OK(eddis_allreduce(e, count, n, EDDIS_INT32, EDDIS_SUM, TIMEOUT_NS, &err));
    for (size_t i = 0; i < n; i++)
        if (count[i] != 1 && wrong++ == 0)
            first = i;
    CHECK(wrong == 0, "%zu places, the first is %zu with %d", wrong, first, (int)count[first]);
}

bool step_begin(struct eddis *e, struct eddis_step *ret)
{
    int rc = -1;

    ret->size = sizeof *ret;
    SUCCEEDS(rc = eddis_step_begin(e, ret, &err));
    return rc == 1;
}

bool step_is_last(struct eddis *e, const struct eddis_step *s)
{
    struct eddis_step next = { .size = sizeof next };
    int rc = -1;

    SUCCEEDS(rc = eddis_plan_step(e, s->step + 1, EDDIS_FOREVER, &next, &err));
    return rc == 0;
}

void step_announce(struct eddis *e, int parameter, void *gradient)
{
    OK(eddis_announce(e, parameter, gradient, gradient, &err));
}

void step_end(struct eddis *e)
{
    OK(eddis_wait(e, TIMEOUT_NS, &err));
    OK(eddis_step_end(e, NULL, &err));
}

void make_step(struct eddis *e)
{
    struct eddis_step s;

    CHECK(step_begin(e, &s));
    step_end(e);
}

void make_steps(struct eddis *e)
{
    struct eddis_step s;

    while (step_begin(e, &s))
        step_end(e);
}

void save(struct eddis *e, const char *folder, const void *data, size_t bytes)
{
    struct eddis_checkpoint *c = NULL;

    OK(eddis_checkpoint_begin(e, folder, &c, &err));
    if (data)
        OK(eddis_checkpoint_put(c, "w", data, bytes, &err));
    OK(eddis_checkpoint_commit(c, 0, &err));
}

void restore(struct eddis *e, const char *folder, void *data, size_t bytes)
{
    struct eddis_checkpoint *c = NULL;

    GIVES(1, eddis_restore_begin(e, folder, &c, &err));
    OK(eddis_checkpoint_get(c, "w", data, bytes, &err));
    OK(eddis_restore_end(c, &err));
}
