/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c - bench-nodes [--json] [--quick]: all-reduces of nodes of 8 workers in virtual time
 *
 * The workers run lib/comm, with the algorithms that its tuner chooses by measuring here, over the
 * in-process loop.  A node sends one message at a time, which takes a latency and its bytes at the
 * link's rate.  Work inside of a node takes no time, sums are not computed and messages are empty,
 * since no machine has 2048 buffers of 1.4 GB.  So this measures only how many messages of which
 * length follow each other.  The bound is that of recursive halving with N nodes, M bytes, latency
 * a and rate B:
 *
 *     2 log2 N a + 2 (1 - 1/N) M / B
 *
 * (R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in
 * MPICH", 2005.)  The program exits 1 if a row takes more than 1.3 times its bound.  --quick leaves
 * out the slow rows, for tests.
 */
#include "lib/comm/node_groups.h"
#include "lib/comm/shm_impl.h"
#include "lib/comm/tuner.h"
#include "loop.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    WORKERS = 8, /* of a node */
    POLL = 16,
    SLOTS = 1024,
    MODEL_BYTES = 1400000000, /* of 350 million parameters */
};
#define MOST_RATIO 1.3

struct link {
    const char *name;
    int64_t latency_ns;
    double bytes_per_s;
};

struct worker {
    struct transport *end;
    struct node_groups *nodes;
    struct comm_shm shm;
    struct comm_place place;
    struct collective *c;
    struct outbox out;
    bool over;
};

struct world {
    int n_nodes, n;
    size_t map_bytes;
    struct loop *loop;
    struct worker *worker; /* [n], node by node */
};

/* Replace combine and combine_many (combine.h) at link time: compute nothing. */
void __wrap_combine(enum comm_type type, enum comm_rule rule, void *acc, const void *in, size_t n);
void __wrap_combine_many(enum comm_type type, enum comm_rule rule, void *out, const void *const *in,
                         int n_in, size_t n);

void __wrap_combine(enum comm_type type, enum comm_rule rule, void *acc, const void *in, size_t n)
{
    (void)type, (void)rule, (void)acc, (void)in, (void)n;
}

void __wrap_combine_many(enum comm_type type, enum comm_rule rule, void *out, const void *const *in,
                         int n_in, size_t n)
{
    (void)type, (void)rule, (void)out, (void)in, (void)n_in, (void)n;
}

/* Replace the functions that map pages in advance (shm_impl.h): the buffers are larger than any
 * machine's memory.
 */
void __wrap_shm_populate_part(const struct comm_shm *m, size_t offset, size_t bytes, bool write);
void __wrap_shm_populate_results(const struct comm_shm *m, size_t offset, size_t bytes);

void __wrap_shm_populate_part(const struct comm_shm *m, size_t offset, size_t bytes, bool write)
{
    (void)m, (void)offset, (void)bytes, (void)write;
}

void __wrap_shm_populate_results(const struct comm_shm *m, size_t offset, size_t bytes)
{
    (void)m, (void)offset, (void)bytes;
}

/* Print `what` and exit unless ok. */
static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench-nodes: %s\n", what);
    exit(1);
}

/* ---- workers ---- */

/* Initialize one rank's view of its node's shared memory at map.  Only its slots are ever accessed.
 */
static void view_init(struct comm_shm *m, int rank, char *map, size_t bytes)
{
    size_t slot_bytes = sizeof(struct shm_slot) + WORKERS * sizeof(struct shm_rank);

    *m = (struct comm_shm){ .rank = rank,
                            .n_ranks = WORKERS,
                            .size = { .arena_bytes = bytes, .slots = SLOTS },
                            .at = { .slot_bytes = slot_bytes,
                                    .arena = (SHM_POOL_SLOTS + SLOTS) * slot_bytes },
                            .fd = -1,
                            .map = map };
    m->at.results = m->at.arena + WORKERS * bytes;
    m->results = map + m->at.results;
    m->uses = calloc(SHM_POOL_SLOTS + SLOTS, sizeof *m->uses);
    m->taken = calloc(SHM_POOL_SLOTS + SLOTS, sizeof *m->taken);
    check(m->uses && m->taken, "no memory");
}

/* Create n_nodes nodes of WORKERS workers, joined by such links, with buffers of `bytes`. */
static void world_open(struct world *w, int n_nodes, const struct link *link, size_t bytes)
{
    size_t slots =
        (SHM_POOL_SLOTS + SLOTS) * (sizeof(struct shm_slot) + WORKERS * sizeof(struct shm_rank));
    int *node_of;

    *w = (struct world){ .n_nodes = n_nodes, .n = n_nodes * WORKERS };
    w->map_bytes = slots + (WORKERS + 1) * bytes;
    w->worker = calloc((size_t)w->n, sizeof *w->worker);
    node_of = calloc((size_t)w->n, sizeof *node_of);
    check(w->worker && node_of && loop_new(w->n, 1, &w->loop, NULL) == 0, "no memory");
    loop_set_link(w->loop, link->latency_ns, link->bytes_per_s);
    loop_set_empty(w->loop);
    for (int r = 0; r < w->n; r++)
        node_of[r] = r / WORKERS;
    for (int r = 0; r < w->n; r++) {
        struct worker *k = &w->worker[r];
        void *map = r % WORKERS ? w->worker[r - 1].shm.map
                                : mmap(NULL, w->map_bytes, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        check(map != MAP_FAILED, "no room for a node's memory");
        k->place = (struct comm_place){ .rank = r, .n_ranks = w->n, .hosts = true };
        check(loop_open(w->loop, r, &k->end, NULL) == 0 &&
                  node_groups_new(&k->place, node_of, &k->nodes, NULL) == 0,
              "no memory");
        view_init(&k->shm, r % WORKERS, map, bytes);
        k->nodes->shm = &k->shm;
        k->place.nodes = k->nodes;
    }
    free(node_of);
}

/* Free the workers and their nodes' memory. */
static void world_close(struct world *w)
{
    for (int r = 0; r < w->n; r++) {
        struct worker *k = &w->worker[r];

        if (r % WORKERS == 0)
            munmap(k->shm.map, w->map_bytes);
        free(k->shm.uses);
        free(k->shm.taken);
        outbox_fini(&k->out);
        node_groups_free(k->nodes);
        transport_close(k->end, true, NULL);
    }
    loop_free(w->loop);
    free(w->worker);
}

/* ---- running ---- */

/* Post what a collective has queued after a call that returned rc; mark the worker as done if rc is
 * 1.
 */
static void worker_after(struct worker *k, int rc)
{
    check(rc >= 0 && transport_post(k->end, &k->out, NULL) == 0, "an all-reduce has failed");
    k->over |= rc == 1;
}

/* Handle the messages that have arrived.  Return true if there were any. */
static bool worker_receive(struct worker *k)
{
    struct comm_op op[POLL];
    bool any = false;
    int n;

    while ((n = transport_poll(k->end, op, POLL, NULL)) > 0)
        for (int i = 0; i < n; i++, any = true)
            worker_after(k, collective_done(k->c, &op[i], &k->out, NULL));
    return any;
}

/* Poll a node's workers until they have done everything they can. first: the node's first worker.
 */
static void node_poll(struct worker *first)
{
    enum { PASSES = 3 }; /* arrive; reduce, pass on; take */

    for (int pass = 0; pass < PASSES; pass++)
        for (int i = WORKERS - 1; i >= 0; i--)
            if (first[i].c && !first[i].over && collective_polls(first[i].c))
                worker_after(&first[i], collective_poll(first[i].c, &first[i].out, NULL));
}

/* Check whether every worker's collective is done. */
static bool world_over(const struct world *w)
{
    for (int r = 0; r < w->n; r++)
        if (w->worker[r].c && !w->worker[r].over)
            return false;
    return true;
}

/* Run every worker's collective to its end, and free them.  Return the virtual seconds. */
static double world_run(struct world *w)
{
    int64_t began = loop_now_ns(w->loop);
    bool any = true;

    for (int r = 0; r < w->n; r++)
        if (w->worker[r].c)
            worker_after(&w->worker[r],
                         collective_start(w->worker[r].c, 1, &w->worker[r].out, NULL));
    for (int idle = 0; idle < 100; idle = any ? 0 : idle + 1) {
        any = false;
        for (int r = 0; r < w->n; r += WORKERS) {
            bool came = worker_receive(&w->worker[r]);

            any |= came;
            if (came || idle)
                node_poll(&w->worker[r]);
        }
        if (!any && world_over(w))
            break;
        any |= loop_advance(w->loop);
    }
    check(world_over(w), "an all-reduce does not end");
    for (int r = 0; r < w->n; r++) {
        collective_free(w->worker[r].c);
        w->worker[r].c = NULL;
        w->worker[r].over = false;
    }
    return (double)(loop_now_ns(w->loop) - began) * 1e-9;
}

/* ---- what is measured ---- */

/* Run an all-reduce of this algorithm among the nodes' first ranks.  Return its virtual seconds. */
static double run_kind(struct world *w, const char *kind, size_t bytes)
{
    for (int r = 0; r < w->n; r += WORKERS) {
        struct worker *k = &w->worker[r];
        const struct allreduce a = { .data = k->shm.map + k->shm.at.arena,
                                     .n = bytes / sizeof(float),
                                     .type = COMM_FLOAT32,
                                     .rule = COMM_SUM };
        struct comm_place p = node_groups_firsts(k->nodes, COMM_GRADIENTS);

        check(allreduce_new_kind(kind, &p, &a, &k->c, NULL) == 0, "no memory");
    }
    return world_run(w);
}

/* Run an all-reduce among all workers with these limits (NULL: the defaults).  Return its virtual
 * seconds.
 */
static double run_all(struct world *w, size_t bytes, const struct comm_limits *limits)
{
    for (int r = 0; r < w->n; r++) {
        struct worker *k = &w->worker[r];
        const struct allreduce a = { .data = k->shm.map + k->shm.at.arena +
                                             (size_t)k->shm.rank * k->shm.size.arena_bytes,
                                     .n = bytes / sizeof(float),
                                     .type = COMM_FLOAT32,
                                     .rule = COMM_SUM };

        k->place.limits = limits;
        check(allreduce_new(&k->place, &a, &k->c, NULL) == 0, "no memory");
    }
    return world_run(w);
}

/* Let the tuner measure this world as lib/worker/tuning.c does, and return the limits that it
 * chooses.
 */
static struct comm_limits tune(struct world *w)
{
    struct tuner_result r;
    struct tuner_rung rung;
    struct tuner t;

    tuner_init(&t, &(struct comm_place){ .n_ranks = w->n_nodes, .hosts = true }, 0,
               TUNER_BUDGET_S / 2);
    t.few = true;
    while (tuner_next(&t, &rung)) {
        double seconds[TUNER_KINDS] = { 0 };

        for (int k = 0; k < TUNER_KINDS; k++)
            if (rung.kind[k])
                seconds[k] = run_kind(w, rung.kind[k], rung.bytes);
        tuner_note(&t, seconds);
    }
    tuner_choose(&t, &r);
    r.limits.stage_bytes = tuner_stage_bytes(&r.cost, &r.limits, w->n_nodes);
    return r.limits;
}

struct row {
    double bound_s, s, usual_s; /* usual_s: with the default limits, for unmeasured networks */
};

/* Measure an all-reduce of `bytes` beside its bound. */
static struct row measure(struct world *w, const struct link *link, size_t bytes,
                          const struct comm_limits *limits)
{
    double n = w->n_nodes;

    return (struct row){ .bound_s = 2 * log2(n) * (double)link->latency_ns * 1e-9 +
                                    2 * (1 - 1 / n) * (double)bytes / link->bytes_per_s,
                         .s = run_all(w, bytes, limits),
                         .usual_s = run_all(w, bytes, NULL) };
}

enum output { TABLE, JSON, QUICK };

/* Measure all sizes with n_nodes nodes, and print the rows.  Return the largest ratio to the bound.
 */
static double measure_nodes(int n_nodes, const struct link *link, enum output how)
{
    static const size_t sizes[] = { 64 << 10, 1 << 20, 25 << 20, MODEL_BYTES };
    struct world w;
    struct comm_limits limits;
    double worst = 0;

    world_open(&w, n_nodes, link, MODEL_BYTES);
    limits = tune(&w);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct row r;

        if (how == QUICK && n_nodes > 16 && sizes[i] == MODEL_BYTES)
            continue;
        r = measure(&w, link, sizes[i], &limits);
        worst = fmax(worst, r.s / r.bound_s);
        if (how != JSON)
            printf("  %-8s %4g us  %5d  %10zu  %10.3f  %10.3f  %6.2f     %10.3f  %6.2f\n",
                   link->name, (double)link->latency_ns * 1e-3, n_nodes, sizes[i], r.bound_s * 1e3,
                   r.s * 1e3, r.s / r.bound_s, r.usual_s * 1e3, r.usual_s / r.bound_s);
    }
    world_close(&w);
    return worst;
}

int main(int argc, char **argv)
{
    static const struct link links[] = { { "100gbit", 4000, 1.25e10 },
                                         { "1gbit", 100000, 1.25e8 } };
    static const int nodes[] = { 4, 16, 64, 256 };
    enum output how = argc < 2 ? TABLE : strcmp(argv[1], "--json") == 0 ? JSON : QUICK;
    double worst = 0;

    if (argc > 2 || (how == QUICK && strcmp(argv[1], "--quick") != 0)) {
        fprintf(stderr, "usage: bench-nodes [--json|--quick]\n");
        return 2;
    }
    if (how != JSON)
        printf(
            "all-reduce of nodes of %d workers, in virtual time; ms\n"
            "  link     latency  nodes       bytes       bound    measured  /bound     unmeasured"
            "  /bound\n",
            WORKERS);
    for (int l = 0; l < (how == QUICK ? 1 : 2); l++)
        for (size_t n = 0; n < sizeof nodes / sizeof *nodes; n++)
            worst = fmax(worst, measure_nodes(nodes[n], &links[l], how));
    if (how == JSON)
        printf("{\"schema_version\": 1, \"bench\": \"nodes\", \"ratio_bound\": %.4f}\n", 1 / worst);
    else
        printf("at worst %.2f times the bound (wanted: at most %.1f)\n", worst, MOST_RATIO);
    return worst > MOST_RATIO;
}
