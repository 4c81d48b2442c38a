/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.c - the thread that reads the next batch */
#include "prefetch.h"

#include "lib/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The memory of one batch. */
struct buffers {
    int64_t n, cap; /* samples */
    int64_t *index;
    float *x;
    int32_t *label;
    int64_t read_ns;
};

/* The state of the thread's work: none, a batch to read, a batch read, time to end. */
enum state { IDLE, WANTED, DONE, QUIT };

/* The reading thread and its two batches. */
struct prefetch {
    struct dataset *data;
    float scale;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    enum state state;    /* guarded by lock */
    struct buffers b[2]; /* b[turn] belongs to the thread while the state is WANTED */
    int turn;
    int rc;                   /* result of the last read */
    struct eddis_error error; /* its error text */
};

/* Read each batch that is wanted, until the state is QUIT; the thread's main function. */
static void *work(void *arg)
{
    struct prefetch *p = arg;

    (void)pthread_mutex_lock(&p->lock);
    for (;;) {
        struct buffers *b;
        int64_t begun_ns;

        while (p->state == IDLE || p->state == DONE)
            (void)pthread_cond_wait(&p->change, &p->lock);
        if (p->state == QUIT)
            break;
        b = &p->b[p->turn];
        (void)pthread_mutex_unlock(&p->lock);
        begun_ns = clock_now_ns();
        p->rc = dataset_read(p->data, b->index, b->n, p->scale, b->x, b->label, &p->error);
        b->read_ns = clock_now_ns() - begun_ns;
        (void)pthread_mutex_lock(&p->lock);
        if (p->state == WANTED)
            p->state = DONE;
        (void)pthread_cond_broadcast(&p->change);
    }
    (void)pthread_mutex_unlock(&p->lock);
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
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->change, NULL);
    code = pthread_create(&p->thread, NULL, work, p);
    if (code) {
        free(p);
        return eddis_fail_errno(err, -code, "cannot start the thread that reads data ahead");
    }
    *ret = p;
    return 0;
}

/* Enlarge the memory of a batch to n samples of `width` values. */
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

    assert(p->state == IDLE);
    if (rc < 0)
        return rc;
    if (n)
        memcpy(b->index, index, (size_t)n * sizeof *index);
    b->n = n;
    (void)pthread_mutex_lock(&p->lock);
    p->state = WANTED;
    (void)pthread_cond_broadcast(&p->change);
    (void)pthread_mutex_unlock(&p->lock);
    return 0;
}

int prefetch_wait(struct prefetch *p, struct prefetch_batch *ret, struct eddis_error *err)
{
    const struct buffers *b = &p->b[p->turn];

    (void)pthread_mutex_lock(&p->lock);
    assert(p->state == WANTED || p->state == DONE);
    while (p->state != DONE)
        (void)pthread_cond_wait(&p->change, &p->lock);
    p->state = IDLE;
    (void)pthread_mutex_unlock(&p->lock);
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
    (void)pthread_mutex_lock(&p->lock);
    p->state = QUIT;
    (void)pthread_cond_broadcast(&p->change);
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_join(p->thread, NULL);
    for (int i = 0; i < 2; i++) {
        free(p->b[i].index);
        free(p->b[i].x);
        free(p->b[i].label);
    }
    (void)pthread_cond_destroy(&p->change);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}
