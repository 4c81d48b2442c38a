/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.c - the thread that reads the next batch */
#include "prefetch.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The memory of one batch. */
struct buffers {
    int64_t n, cap; /* samples in the batch; samples for which there is room */
    int64_t *index;
    float *x;
    int32_t *label;
    int64_t read_ns;
};

/* The reading thread and its two batches. */
struct prefetch {
    struct dataset *data;
    float scale;
    pthread_t thread;
    sem_t wanted, done;  /* posted to begin a read, or to quit; and after a read */
    atomic_bool quit;    /* set before `wanted` is posted, perhaps during a read */
    struct buffers b[2]; /* b[turn] belongs to the thread from `wanted` to `done` */
    int turn;
    int rc;                   /* result of the latest dataset_read */
    struct eddis_error error; /* error of that dataset_read */
};

/* Wait for a semaphore, also if a signal interrupts that. */
static void await(sem_t *s)
{
    while (sem_wait(s) < 0 && errno == EINTR)
        ;
}

/* Read each batch that is wanted, and store the result in p->rc, until it is time to quit; the
 * thread's main function.  Return NULL.
 */
static void *work(void *arg)
{
    struct prefetch *p = arg;

    for (await(&p->wanted); !p->quit; await(&p->wanted)) {
        struct buffers *b = &p->b[p->turn];
        int64_t begun_ns = clock_now_ns();

        p->rc = dataset_read(p->data, b->index, b->n, p->scale, b->x, b->label, &p->error);
        b->read_ns = clock_now_ns() - begun_ns;
        (void)sem_post(&p->done);
    }
    return NULL;
}

int prefetch_new(struct dataset *d, float scale, struct prefetch **ret, struct eddis_error *err)
{
    struct prefetch *p = calloc(1, sizeof *p);
    int code;

    if (!p)
        return eddis_fail(err, -ENOMEM, "out of memory");
    p->data = d;
    p->scale = scale;
    (void)sem_init(&p->wanted, 0, 0);
    (void)sem_init(&p->done, 0, 0);
    code = pthread_create(&p->thread, NULL, work, p);
    if (code) {
        free(p);
        return eddis_fail_errno(err, -code, "cannot start the thread that reads data ahead");
    }
    *ret = p;
    return 0;
}

/* Enlarge the memory of a batch to n samples of `width` values, if it has less.  Return 0 or
 * -ENOMEM.
 */
static int reserve(struct buffers *b, int64_t n, int64_t width, struct eddis_error *err)
{
    void *index, *x, *label;

    if (n <= b->cap)
        return 0;
    index = realloc(b->index, (size_t)n * sizeof *b->index);
    b->index = index ? index : b->index;
    x = realloc(b->x, (size_t)n * (size_t)width * sizeof *b->x);
    b->x = x ? x : b->x;
    label = realloc(b->label, (size_t)n * sizeof *b->label);
    b->label = label ? label : b->label;
    if (!index || !x || !label)
        return eddis_fail(err, -ENOMEM, "out of memory");
    b->cap = n;
    return 0;
}

int prefetch_start(struct prefetch *p, const int64_t *index, int64_t n, struct eddis_error *err)
{
    struct buffers *b = &p->b[p->turn];
    int rc = reserve(b, n, dataset_info(p->data)->n_features, err);

    if (rc < 0)
        return rc;
    if (n)
        memcpy(b->index, index, (size_t)n * sizeof *index);
    b->n = n;
    (void)sem_post(&p->wanted);
    return 0;
}

int prefetch_wait(struct prefetch *p, struct prefetch_batch *ret, struct eddis_error *err)
{
    const struct buffers *b = &p->b[p->turn];

    await(&p->done);
    if (p->rc < 0)
        return eddis_fail(err, p->rc, "%s", p->error.text);
    *ret =
        (struct prefetch_batch){ .n = b->n, .x = b->x, .label = b->label, .read_ns = b->read_ns };
    p->turn = !p->turn;
    return 0;
}

void prefetch_free(struct prefetch *p)
{
    if (!p)
        return;
    p->quit = true;
    (void)sem_post(&p->wanted);
    (void)pthread_join(p->thread, NULL);
    for (int i = 0; i < 2; i++) {
        free(p->b[i].index);
        free(p->b[i].x);
        free(p->b[i].label);
    }
    (void)sem_destroy(&p->wanted);
    (void)sem_destroy(&p->done);
    free(p);
}
