/* SPDX-License-Identifier: Apache-2.0 */
/* memory_worker.c - a rank whose samples take memory
 *
 *     memory-worker KIB STEPS whole|pieces|refused|card [US ...]
 *
 * Rank 1 writes KIB kibibytes for each sample that it holds, the others for none.  With "pieces" it
 * promises to hold eddis_step.piece at once; with "refused", too, and what it may take is bounded
 * to 200 MiB more than it has: it exits EDDIS_EXIT_MEMORY where that is refused.  Rank r takes the
 * r-th US microseconds for each sample.  Prints "step N: COUNT samples, PIECE at once".
 *
 * With "card" a rank holds nothing, but reports that its GPU holds 1 GiB and KIB for each sample;
 * it exits EDDIS_EXIT_MEMORY if that is more than the r-th of CARD_GIB, a list of sizes.  The time
 * of a sample of rank 0 grows by 6 % each second, so that the job is re-planned again and again.
 */
#include <eddis.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void die(const struct eddis_error *err)
{
    fprintf(stderr, "memory-worker: %s\n", err->text);
    exit(1);
}

/* Hold n samples, and keep the room for them, as allocators do. */
static void hold(struct eddis *e, int64_t n, size_t bytes)
{
    static int64_t room;
    static char *p;
    char *more = n > room ? realloc(p, (size_t)n * bytes) : NULL;

    if (n > room && !more)
        eddis_abort(e, EDDIS_EXIT_MEMORY);
    if (!more)
        return;
    memset(more + (size_t)room * bytes, (int)n | 1, (size_t)(n - room) * bytes);
    __asm__ volatile("" : : "r"(more) : "memory"); /* or nothing would be written */
    p = more;
    room = n;
}

static void compute(int64_t us)
{
    const struct timespec t = { us / 1000000, us % 1000000 * 1000 };

    (void)nanosleep(&t, NULL);
}

/* Report the memory of rank's card with n samples; it exits if the card has less. */
static int64_t on_card(struct eddis *e, int rank, int64_t n, size_t bytes)
{
    const char *at = getenv("CARD_GIB");
    int64_t peak = (INT64_C(1) << 30) + n * (int64_t)bytes;

    for (int i = 0; i < rank && at; i++)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    if (!at || peak > atoll(at) << 30)
        eddis_abort(e, EDDIS_EXIT_MEMORY);
    return peak;
}

/* Return how much longer rank takes than at first. */
static double slower(int rank)
{
    static struct timespec first;
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (first.tv_sec == 0)
        first = now;
    return rank == 0 ? pow(1.06, (double)(now.tv_sec - first.tv_sec)) : 1;
}

/* What it has by now is no lack. */
static void bound_memory(void)
{
    enum { MORE = 200 << 20 };
    FILE *f = fopen("/proc/self/statm", "re");
    long pages = 0;
    struct rlimit l;

    if (!f || fscanf(f, "%ld", &pages) != 1)
        exit(1);
    (void)fclose(f);
    l.rlim_cur = l.rlim_max = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MORE;
    if (setrlimit(RLIMIT_AS, &l) < 0)
        exit(1);
}

/* What a rank takes for each sample. */
struct taken {
    int rank;
    size_t bytes, card_bytes; /* of its own memory, and of its card's */
    int64_t us;
};

static int step(struct eddis *e, const struct taken *t, struct eddis_error *err)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_report r = { .size = sizeof r };
    int rc = eddis_step_begin(e, &s, err);

    if (rc != 1)
        return rc;
    printf("step %lld: %lld samples, %lld at once\n", (long long)s.step, (long long)s.count,
           (long long)s.piece);
    (void)fflush(stdout);
    for (int64_t from = 0; t->bytes && from < s.count; from += s.piece)
        hold(e, s.count - from < s.piece ? s.count - from : s.piece, t->bytes);
    if (t->card_bytes)
        r.memory_bytes = on_card(e, t->rank, s.count, t->card_bytes);
    compute((int64_t)((double)(s.count * t->us) * (t->card_bytes ? slower(t->rank) : 1)));
    rc = eddis_wait(e, EDDIS_FOREVER, err);
    if (rc == 0)
        rc = eddis_step_end(e, &r, err);
    return rc < 0 ? rc : 1;
}

int main(int argc, char **argv)
{
    struct eddis_options o = { .size = sizeof o, .epochs = 1 };
    static float value[1], result[1];
    const struct eddis_parameter p = { .size = sizeof p,
                                       .name = "w",
                                       .dtype = EDDIS_FLOAT32,
                                       .n_dims = 1,
                                       .dims = { 1 },
                                       .value = value,
                                       .result = result };
    struct eddis_world w = { .size = sizeof w };
    struct eddis_error err = { 0 };
    struct eddis *e = NULL;
    struct taken t = { 0 };
    size_t bytes;
    bool card;
    int rc;

    if (argc < 4)
        return 2;
    bytes = (size_t)atoll(argv[1]) << 10;
    card = strcmp(argv[3], "card") == 0;
    o.samples = atoll(argv[2]) * atoll(getenv("EDDIS_GLOBAL_BATCH"));
    o.pieces = !card && strcmp(argv[3], "whole") != 0;
    if (eddis_open(&o, &e, &err) < 0 || eddis_world(e, &w) < 0 ||
        eddis_add_layer(e, "one", EDDIS_LAYER_OTHER, &err) < 0 ||
        eddis_add_parameter(e, 0, &p, &err) < 0 || eddis_commit(e, &err) < 0 ||
        eddis_broadcast_parameters(e, 0, &err) < 0)
        die(&err);
    if (w.rank == 1 && strcmp(argv[3], "refused") == 0)
        bound_memory();
    t.rank = w.rank;
    t.card_bytes = card ? bytes : 0;
    t.bytes = w.rank == 1 && !card ? bytes : 0;
    if (w.rank < argc - 4)
        t.us = atoll(argv[4 + w.rank]);
    do
        rc = step(e, &t, &err);
    while (rc == 1);
    if (rc < 0 || eddis_close(e, &err) < 0)
        die(&err);
    return 0;
}
