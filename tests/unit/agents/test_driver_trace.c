/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_trace.c - the driver's state machine does what it did at commit 1a7d9a2
 *
 *     test_driver_trace FOLDER                 compare with FOLDER/{states,walks}.txt
 *     test_driver_trace show FOLDER SET N      say what the machine does in the N-th state of a set
 *     test_driver_trace walk SET SEED          say what it does on a walk
 *     test_driver_trace write FOLDER           make the files anew
 *
 * The files were made by "write" with this source and the state library of 1a7d9a2
 * (state_trace/world_1a7d9a2.c for its names), and anew where its answers were meant to change:
 * the sentence about a hang names timeouts.hang; one about lack of memory says what to do; where a
 * rank has ended without a word those of MPI are shown; agents that end before they have registered
 * are not to blame when the driver itself was stopped, and no node is silent because of that; where
 * no step is known a sentence says that restarts may be asked for; the first step of one rank is
 * enough for a checkpoint to be asked for; what nodes find behind the probe of the network is no
 * checkpoint of the job's; one rank that is stopped is no "ranks", and a probe of the network that
 * runs on all nodes gets more time; a generation behind the first that does not come up counts as
 * no restart, one that has shown nothing is followed by a pause, and the sentence of a restart
 * counts those; an exit behind the last step is the end, a death behind eddis_close a warning; what
 * has printed nothing starts again where that is asked for; lost nodes are counted by themselves,
 * and what is an hour ago is not, but for the totals; a start that times out is followed by a
 * pause, and so is a lost node that left the job where the one before did.  From the first state of
 * every set of nodes (world.h) every input that is possible is given, breadth first, where going on
 * well ("forward") counts as no step.  Two states are the same when they answer every input alike,
 * but for exact times and numbers in sentences.  No set is ever complete: each is cut at STATES
 * states, of which those behind "forward" alone come first and others from anywhere.  Longer ways
 * are met only by WALKS random walks a set; test_driver_cells.c looks at every cell of the
 * machine's table.  What the machine does otherwise on purpose is not given:
 * state_trace/world_differs.c.
 *
 *     states.txt   a line a state: the state that it was reached from, by which input, and a hash
 *                  of all that is felt (actions with their fields, phase, outcome, deadlines, what
 *                  the driver reads) for every input given in it: a row of the trace for each
 *     walks.txt    hashes of long random walks, for what shows later than at the next input
 *     cover.txt    for people: for each (phase, input), in the probe and in the job, two of its
 *                  rows
 */
#include "tests/unit/agents/state_trace/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STATES = 1200, WALKS = 400, WALK_STEPS = 120, COSTS = 8, ROWS = 2 };

static const uint64_t basis = 14695981039346656037u;
static int dishonest;

struct node {
    int parent, input;
    uint64_t all;
};

static uint64_t mixed(uint64_t h, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        h = (h ^ (v >> 8 * i & 0xff)) * 1099511628211u;
    return h;
}

static void path(FILE *to, const struct world_set *set, const struct node *node, int n)
{
    char name[64];

    if (node[n].parent < 0)
        return;
    path(to, set, node, node[n].parent);
    world_input_name(set, node[n].input, name, sizeof name);
    fprintf(to, "%s%s", node[node[n].parent].parent < 0 ? "" : ", ", name);
}

static void reach(struct world *w, const struct world_set *set, const struct node *node, int n)
{
    struct world_felt none = { 0 };

    if (node[n].parent < 0) {
        world_init(w, set);
        return;
    }
    reach(w, set, node, node[n].parent);
    (void)world_give(w, node[n].input, &none);
}

/* What the world does is what the machine takes for possible. */
static void honest(const struct world *w)
{
    if (world_impossible(&w->s) && dishonest++ < 20)
        printf("an input that the table calls impossible has come; now %s\n",
               world_phase_name(world_phase(&w->s)));
}

/* What is felt for every input given in this state; text: also for people. */
static struct world_felt all_answers(const struct world *w, FILE *text)
{
    struct world_felt sum = { basis, basis, NULL };

    for (int i = 0; i < world_n_inputs(w->set); i++) {
        struct world_felt f = { basis, basis, text };
        struct world to;
        char name[64];

        world_copy(&to, w);
        world_input_name(w->set, i, name, sizeof name);
        if (text)
            fprintf(text, "%s:", name);
        if (!world_give(&to, i, &f))
            f.all = f.coarse = 0;
        honest(&to);
        if (text)
            fprintf(text, "%s\n", f.all ? "" : " impossible");
        sum.all = mixed(sum.all, f.all);
        sum.coarse = mixed(sum.coarse, f.coarse);
        world_fini(&to);
    }
    return sum;
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* A third of the steps goes on well, so that walks come far; steps: 0 without rows for people. */
static uint64_t walk(const struct world_set *set, uint64_t seed, FILE *text)
{
    struct world_felt f = { basis, basis, text };
    int forward = world_find_input(set, "forward"), n = world_n_inputs(set);
    struct world w;

    seed = mixed(basis, seed);
    world_init(&w, set);
    for (int k = 0; k < WALK_STEPS; k++) {
        int input = next(&seed) % 3 == 0 ? forward : (int)(next(&seed) % (unsigned)n);
        char name[64];

        world_input_name(set, input, name, sizeof name);
        if (text)
            fprintf(text, "%s:", name);
        (void)world_give(&w, input, &f);
        if (text)
            fprintf(text, "\n");
    }
    honest(&w);
    world_fini(&w);
    return f.all;
}

/* ---- writing ---- */

struct seen {
    uint64_t *h;
    int n, size;
};

static bool is_new(struct seen *s, uint64_t h)
{
    for (int i = 0; i < s->n; i++)
        if (s->h[i] == h)
            return false;
    if (s->n == s->size) {
        s->size = s->size ? 2 * s->size : 1024;
        s->h = realloc(s->h, (size_t)s->size * sizeof *s->h);
        if (!s->h)
            abort();
    }
    s->h[s->n++] = h;
    return true;
}

struct cover {
    struct seen rows, kinds, pairs[WORLD_PHASES];
    FILE *f;
    long given;
};

/* The kind of an input: its name without which agent or rank. */
static uint64_t kind_of(const char *name)
{
    uint64_t h = basis;

    for (const char *c = name; *c && *c != '('; c++)
        h = mixed(h, (unsigned char)*c);
    return h;
}

/* A row for people when this kind of input has not been answered so in this phase. */
static void cover_row(struct cover *c, const struct world *w, int input, uint64_t coarse)
{
    struct world_felt f = { basis, basis, NULL };
    enum world_phase p = world_phase(&w->s);
    struct world to;
    char name[64];
    uint64_t pair;

    c->given++;
    world_input_name(w->set, input, name, sizeof name);
    pair = mixed(mixed(kind_of(name), p), w->s.generation == 0);
    (void)is_new(&c->kinds, pair);
    if (!is_new(&c->rows, mixed(pair, coarse)))
        return;
    for (int i = 0; i < ROWS; i++)
        if (is_new(&c->pairs[p], mixed(pair, (uint64_t)i))) {
            fprintf(c->f, "%s, generation %" PRId64 " | %s", world_phase_name(p), w->s.generation,
                    name);
            f.text = c->f;
            world_copy(&to, w);
            (void)world_give(&to, input, &f);
            world_fini(&to);
            fprintf(c->f, "\n");
            return;
        }
}

struct search {
    const struct world_set *set;
    struct node node[STATES];
    int n;
    struct seen states;
    int *bucket[COSTS], n_bucket[COSTS];
    struct cover *cover;
};

static void add(struct search *s, int parent, int input, int cost, const struct world *w)
{
    struct world_felt f = all_answers(w, NULL);

    if (s->n == STATES || !is_new(&s->states, f.coarse))
        return;
    s->node[s->n] = (struct node){ parent, input, f.all };
    if (cost < COSTS)
        s->bucket[cost][s->n_bucket[cost]++] = s->n;
    s->n++;
}

static void expand(struct search *s, int n, int cost)
{
    int forward = world_find_input(s->set, "forward");
    struct world from;

    reach(&from, s->set, s->node, n);
    for (int i = 0; i < world_n_inputs(s->set); i++) {
        struct world_felt f = { basis, basis, NULL };
        struct world to;

        world_copy(&to, &from);
        if (world_give(&to, i, &f)) {
            cover_row(s->cover, &from, i, f.coarse);
            if (!world_same(&from, &to))
                add(s, n, i, cost + (i != forward), &to);
        }
        world_fini(&to);
    }
    world_fini(&from);
}

static void search(struct search *s)
{
    uint64_t seed = 1;
    struct world w;

    s->node[0] = (struct node){ -1, -1, 0 };
    world_init(&w, s->set);
    add(s, -1, -1, 0, &w);
    world_fini(&w);
    for (int c = 0; c < COSTS; c++)
        while (s->n_bucket[c] > 0) {
            /* the first steps in order, later ones from anywhere: no set is ever complete */
            int at = c == 0 ? 0 : (int)(next(&seed) % (unsigned)s->n_bucket[c]);
            int n = s->bucket[c][at];

            s->bucket[c][at] = s->bucket[c][--s->n_bucket[c]];
            expand(s, n, c);
        }
}

static FILE *opened(const char *folder, const char *name, const char *mode)
{
    char file[4096];
    FILE *f;

    (void)snprintf(file, sizeof file, "%s/%s", folder, name);
    f = fopen(file, mode);
    if (!f) {
        perror(file);
        exit(1);
    }
    return f;
}

/* Close a file of rows; one that means nothing here ends the program, since those behind it would
 * not be compared. */
static void close_rows(FILE *f, const char *name, bool good)
{
    if (!good || !feof(f)) {
        (void)fprintf(stderr, "%s: has a row that means nothing here\n", name);
        exit(1);
    }
    (void)fclose(f);
}

static int write_all(const char *folder)
{
    FILE *states = opened(folder, "states.txt", "w"), *walks = opened(folder, "walks.txt", "w");
    struct cover cover = { .f = opened(folder, "cover.txt", "w") };

    for (int i = 0; i < world_n_sets; i++) {
        struct search *s = calloc(1, sizeof *s);

        if (!s)
            abort();
        s->set = &world_sets[i];
        s->cover = &cover;
        for (int c = 0; c < COSTS; c++)
            s->bucket[c] = calloc(STATES, sizeof *s->bucket[c]);
        search(s);
        for (int n = 0; n < s->n; n++)
            fprintf(states, "%d %d %d %016" PRIx64 "\n", i, s->node[n].parent, s->node[n].input,
                    s->node[n].all);
        for (int n = 0; n < WALKS; n++)
            fprintf(walks, "%d %016" PRIx64 "\n", i, walk(s->set, (uint64_t)n, NULL));
        printf("%s: %d states, %d rows\n", s->set->name, s->n, s->n * world_n_inputs(s->set));
        for (int c = 0; c < COSTS; c++)
            free(s->bucket[c]);
        free(s->states.h);
        free(s);
    }
    printf("%ld inputs were possible in %d (phase, input), with %d different answers\n",
           cover.given, cover.kinds.n, cover.rows.n);
    free(cover.rows.h);
    free(cover.kinds.h);
    for (int p = 0; p < WORLD_PHASES; p++)
        free(cover.pairs[p].h);
    return fclose(states) | fclose(walks) | fclose(cover.f);
}

/* ---- comparing ---- */

enum { SETS = 8 };

struct stored {
    struct node *node[SETS];
    int n[SETS];
};

static void load(const char *folder, struct stored *ret)
{
    FILE *f = opened(folder, "states.txt", "r");
    int set, parent, input;
    bool good = true;
    uint64_t all;

    *ret = (struct stored){ 0 };
    for (int i = 0; i < SETS; i++)
        ret->node[i] = calloc(STATES, sizeof **ret->node);
    while (good && fscanf(f, "%d %d %d %" SCNx64, &set, &parent, &input, &all) == 4) {
        good = set >= 0 && set < world_n_sets && ret->n[set] < STATES && parent < ret->n[set];
        if (good)
            ret->node[set][ret->n[set]++] = (struct node){ parent, input, all };
    }
    close_rows(f, "states.txt", good);
}

static void unload(struct stored *s)
{
    for (int i = 0; i < SETS; i++)
        free(s->node[i]);
}

static int compare_states(const char *folder)
{
    struct stored stored;
    int wrong = 0;
    long rows = 0, states = 0;

    load(folder, &stored);
    for (int i = 0; i < world_n_sets; i++)
        for (int n = 0; n < stored.n[i]; n++) {
            struct world w;

            reach(&w, &world_sets[i], stored.node[i], n);
            if (all_answers(&w, NULL).all != stored.node[i][n].all && wrong++ < 20) {
                printf("set %d, state %d (%s) is answered otherwise: ", i, n,
                       world_phase_name(world_phase(&w.s)));
                path(stdout, &world_sets[i], stored.node[i], n);
                printf("\n");
            }
            world_fini(&w);
            rows += world_n_inputs(&world_sets[i]);
            states++;
        }
    unload(&stored);
    printf("%ld states, %ld rows: %d states are answered otherwise\n", states, rows, wrong);
    return wrong || states == 0;
}

static int compare_walks(const char *folder)
{
    FILE *f = opened(folder, "walks.txt", "r");
    int set, n[SETS] = { 0 }, wrong = 0, walks = 0;
    bool good = true;
    uint64_t all;

    while (good && fscanf(f, "%d %" SCNx64, &set, &all) == 2) {
        if (!(good = set >= 0 && set < world_n_sets))
            continue;
        if (walk(&world_sets[set], (uint64_t)n[set], NULL) != all && wrong++ < 20)
            printf("set %d, walk %d goes otherwise\n", set, n[set]);
        n[set]++;
        walks++;
    }
    close_rows(f, "walks.txt", good);
    printf("%d walks of %d steps: %d go otherwise\n", walks, WALK_STEPS, wrong);
    return wrong || walks == 0;
}

static int show(const char *folder, int set, int n)
{
    struct stored stored;
    struct world w;

    load(folder, &stored);
    if (set < 0 || set >= world_n_sets || n < 0 || n >= stored.n[set])
        return 1;
    reach(&w, &world_sets[set], stored.node[set], n);
    path(stdout, &world_sets[set], stored.node[set], n);
    printf("\n");
    (void)all_answers(&w, stdout);
    world_fini(&w);
    unload(&stored);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        int states = compare_states(argv[1]), walks = compare_walks(argv[1]);

        return states || walks || dishonest;
    }
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_all(argv[2]);
    if (argc == 5 && strcmp(argv[1], "show") == 0)
        return show(argv[2], atoi(argv[3]), atoi(argv[4]));
    if (argc == 4 && strcmp(argv[1], "walk") == 0) {
        uint64_t h = walk(&world_sets[atoi(argv[2])], (uint64_t)atoll(argv[3]), stdout);

        printf("%016" PRIx64 "\n", h);
        return 0;
    }
    fprintf(stderr, "usage: %s FOLDER | write FOLDER | show FOLDER SET N | walk SET SEED\n",
            argv[0]);
    return 2;
}
