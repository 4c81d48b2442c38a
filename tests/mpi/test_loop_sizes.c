/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_sizes.c - callers that know fewer fields of a struct than the library: every size of
 * every struct that begins with one
 *
 * What is behind the caller's size is garbage: read it must not be, for it would be refused, nor
 * written.
 */
#include "lib/worker/open_options.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"

#include <errno.h>

/* LEAST: the least size that has a part of a field. */
enum { GARBAGE = 0xFF, ROOM = 512, DIM = 2, LEAST = sizeof(size_t) + 1 };

/* The first `size` bytes of a struct, and garbage. */
union sized {
    size_t size;
    unsigned char bytes[ROOM];
};

static void begin(union sized *s, const void *from, size_t size)
{
    memset(s->bytes, GARBAGE, sizeof s->bytes);
    memcpy(s->bytes, from, size);
    s->size = size;
}

/* A struct of this size to be filled in. */
static void ask(union sized *s, size_t size)
{
    memset(s->bytes, GARBAGE, sizeof s->bytes);
    s->size = size;
}

/* Whether nothing was written behind the size. */
static bool is_clean(const union sized *s, size_t size)
{
    for (size_t i = size; i < sizeof s->bytes; i++)
        if (s->bytes[i] != GARBAGE)
            return false;
    return s->size == size;
}

/* Whether the rest of an answer, and no more, was written. */
static bool is_part(const union sized *s, const void *whole, size_t size)
{
    return is_clean(s, size) && memcmp(s->bytes + sizeof size, (const char *)whole + sizeof size,
                                       size - sizeof size) == 0;
}

static void sizes_of_options(void)
{
    static const struct eddis_options whole = { .size = sizeof whole,
                                                .samples = 100,
                                                .epochs = 2,
                                                .batch = 30,
                                                .seed = 7,
                                                .bucket_bytes = 64,
                                                .own_pace = 1,
                                                .measure = 1,
                                                .pieces = 1,
                                                .read_ahead = 3,
                                                .drop_last = 1,
                                                .min_count = 4,
                                                .close_at_exit = 1 };
    static const struct eddis_options zero; /* its padding too */

    for (size_t n = LEAST; n <= sizeof whole; n++) {
        struct eddis_options got;
        union sized s;

        begin(&s, &whole, n);
        OK(open_options_read((const struct eddis_options *)&s, &got, &err));
        CHECK(memcmp((char *)&got + sizeof n, (const char *)&whole + sizeof n, n - sizeof n) == 0);
        CHECK(memcmp((char *)&got + n, (const char *)&zero + n, sizeof got - n) == 0);
    }
}

/* Of no elements, for which no value is needed. */
static bool is_empty(size_t n)
{
    return n > offsetof(struct eddis_parameter, n_dims) &&
           n <= offsetof(struct eddis_parameter, dims);
}

static void sizes_of_parameters(struct eddis *e, float *value, float *result)
{
    struct eddis_parameter whole = vector_of(value, DIM);
    const size_t least = offsetof(struct eddis_parameter, value) + sizeof(void *);

    whole.result = result;
    OK(eddis_add_layer(e, "l", EDDIS_LAYER_OTHER, &err));
    for (size_t n = LEAST; n <= sizeof whole; n++) {
        size_t field = offsetof(struct eddis_parameter, result);
        union sized s;
        int rc;

        if ((n > 8 && n < 16) || (n > least - 8 && n < least) || (n > field && n < field + 8))
            continue; /* a part of an address is none */
        begin(&s, &whole, n);
        rc = eddis_add_parameter(e, 0, (const struct eddis_parameter *)&s, NULL);
        CHECK(n < least ? rc == -EINVAL || is_empty(n) : rc >= 0);
        if (rc < 0)
            continue;
        CHECK(e->parameters.item[rc].result == (n < field + 8 ? NULL : result));
        CHECK(e->parameters.item[rc].slot >= 0 && !e->parameters.item[rc].factored);
    }
}

static void sizes_of_world(struct eddis *e)
{
    struct eddis_world whole;

    memset(&whole, 0, sizeof whole);
    whole.size = sizeof whole;
    CHECK(eddis_world(e, &whole) == 0);
    for (size_t n = LEAST; n <= sizeof whole; n++) {
        union sized s;

        ask(&s, n);
        CHECK(eddis_world(e, (struct eddis_world *)&s) == 0);
        CHECK(is_part(&s, &whole, n));
    }
}

static void sizes_of_collectives(struct eddis *e)
{
    const struct eddis_collective whole = { .size = sizeof whole, .kind = EDDIS_BARRIER };

    for (size_t n = LEAST; n <= sizeof whole; n++) {
        const size_t at = offsetof(struct eddis_collective, buffer);
        union sized s;

        if (n > at && n < at + sizeof(void *))
            continue;
        begin(&s, &whole, n);
        OK(eddis_collective(e, (const struct eddis_collective *)&s, TIMEOUT_NS, &err));
    }
}

static void sizes_of_plan(struct eddis *e, int64_t step)
{
    struct eddis_step whole;

    memset(&whole, 0, sizeof whole);
    whole.size = sizeof whole;
    GIVES(1, eddis_plan_step(e, step, 0, &whole, &err));
    for (size_t n = LEAST; n <= sizeof whole; n++) {
        union sized s;

        ask(&s, n);
        GIVES(1, eddis_plan_step(e, step, 0, (struct eddis_step *)&s, &err));
        CHECK(is_part(&s, &whole, n));
    }
}

static void sizes_of_checkpoint(struct eddis *e, const char *folder)
{
    struct eddis_checkpoint_info whole;
    struct eddis_checkpoint *c = NULL;

    save(e, folder, NULL, 0);
    GIVES(1, eddis_restore_begin(e, folder, &c, &err));
    memset(&whole, 0, sizeof whole);
    whole.size = sizeof whole;
    OK(eddis_checkpoint_info(c, &whole, &err));
    for (size_t n = LEAST; n <= sizeof whole; n++) {
        union sized s;

        ask(&s, n);
        OK(eddis_checkpoint_info(c, (struct eddis_checkpoint_info *)&s, &err));
        CHECK(is_part(&s, &whole, n));
    }
    OK(eddis_restore_end(c, &err));
}

/* One size a step, of the report too. */
static void steps(struct eddis *e)
{
    const struct eddis_report report = {
        .size = sizeof report, .has_loss = 1, .loss = 1, .compute_ns = 5, .work = 3, .read_ns = 2
    };
    union sized s;

    for (size_t n = LEAST; n <= sizeof(struct eddis_step); n++) {
        size_t of_report = n < sizeof report ? n : sizeof report;

        ask(&s, n);
        GIVES(1, eddis_step_begin(e, (struct eddis_step *)&s, &err));
        CHECK(is_clean(&s, n));
        CHECK(n < 2 * sizeof n || ((struct eddis_step *)&s)->step == e->samples.step);
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        begin(&s, &report, of_report);
        OK(eddis_step_end(e, (const struct eddis_report *)&s, &err));
    }
    _Static_assert(sizeof report <= sizeof(struct eddis_step), "each size of the report, too");
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[DIM] = { 0 }, result[DIM];

    sizes_of_parameters(e, value, result);
    OK(eddis_commit(e, &err));
    sizes_of_world(e);
    sizes_of_collectives(e);
    sizes_of_plan(e, 1);
    steps(e);
    sizes_of_checkpoint(e, j->arg);
}

int main(void)
{
    struct loop_job j = { .n = 1, .body = body, .each = { .batch = 20, .epochs = 1000 } };
    char folder[64];

    CHECK(own_folder_make(folder, sizeof folder) == 0);
    j.arg = folder;
    sizes_of_options();
    loop_job_run(&j);
    return check_result();
}
