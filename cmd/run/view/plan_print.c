/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print.c - prints the nodes, the plan, its predictions and its reason before a job starts */
#include "plan_print.h"

#include "cmd/shared/number.h"
#include "cmd/shared/table.h"
#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/model/algorithm.h"
#include "plan_table.h"
#include "scheduler/modes.h"

#include <math.h>
#include <string.h>

enum { MAX_NODE_LINES = 16 }; /* most lines about nodes, and most notes */

static const char BOLD[] = "\033[1m";
static const char YELLOW[] = "\033[33m";

/* Print text to o->out, in the color of this escape code if the stream takes colors. */
static void paint(const struct plan_print *o, const char *colour, const char *text)
{
    if (o->colour)
        strbuf_addf(o->out, "%s%s\033[0m", colour, text);
    else
        strbuf_add(o->out, text);
}

/* Print a line's label, such as "nodes", padded to the common column. */
static void print_label(const struct plan_print *o, const char *label)
{
    paint(o, BOLD, label);
    strbuf_addf(o->out, "%*s", 10 - (int)strlen(label), "");
}

void plan_print_job(const struct plan_print *o, const char *name, const char *id,
                    const char *folder)
{
    size_t n = o->home ? strlen(o->home) : 0;
    bool below = folder && n > 0 && strncmp(folder, o->home, n) == 0 &&
                 (folder[n] == '/' || folder[n] == '\0');

    text_add_clean(o->out, "eddis %s   job %s", EDDIS_VERSION, id ? id : name);
    if (folder)
        text_add_clean(o->out, "   logs in %s%s", below ? "~" : "", below ? folder + n : folder);
    strbuf_add(o->out, "\n");
}

/* ---- nodes ---- */

/* Append ", 2 NVIDIA A, 1 NVIDIA B": GPUs grouped by name, in the order of each name's first GPU.
 */
static void describe_gpus(const struct node_profile *node, struct strbuf *b)
{
    for (int i = 0; i < node->n_devices; i++) {
        const struct device *d = &node->device[i];
        int same = 0, before = 0;

        if (d->kind != DEVICE_CUDA)
            continue;
        for (int j = 0; j < node->n_devices; j++)
            if (node->device[j].kind == d->kind && strcmp(node->device[j].name, d->name) == 0) {
                same++;
                before += j < i;
            }
        if (before == 0)
            strbuf_addf(b, ", %d %s", same, d->name);
    }
}

/* Return "2 cores, 23 GB, no GPU; 4 emulated devices", which the caller frees; NULL without memory.
 */
static char *describe_node(const struct node_profile *node)
{
    struct strbuf b = { 0 };
    char n[NUMBER_SIZE];

    strbuf_add(&b, number_of(node->cores, "core", n));
    if (node->memory_bytes > 0)
        strbuf_addf(&b, ", %s", number_bytes((double)node->memory_bytes, n));
    if (profile_count(node, DEVICE_CUDA) == 0)
        strbuf_add(&b, ", no GPU");
    describe_gpus(node, &b);
    if (isfinite(node->cpu_quota))
        strbuf_addf(&b, ", limited to %.3g %s", node->cpu_quota,
                    node->cpu_quota == 1 ? "core" : "cores");
    if (profile_count(node, DEVICE_EMULATED) > 0)
        strbuf_addf(&b, "; %s",
                    number_of(profile_count(node, DEVICE_EMULATED), "emulated device", n));
    return strbuf_steal(&b);
}

/* Print the names of nodes [first, end): "a", "a, b" or "a ... d". */
static void print_names(const struct plan_print *o, const struct node_profile *nodes, int first,
                        int end)
{
    text_add_clean(o->out, "%s", nodes[first].host);
    if (end - first > 1)
        text_add_clean(o->out, "%s%s", end - first > 2 ? " ... " : ", ", nodes[end - 1].host);
}

/* Print the line of nodes [first, end) of n, which have the same description `what`. */
static void print_alike(const struct plan_print *o, const struct node_profile *nodes, int first,
                        int end, int n, const char *what)
{
    int count = end - first;

    print_names(o, nodes, first, end);
    strbuf_add(o->out, " (");
    if (count > 2 && count < n)
        strbuf_addf(o->out, "%d nodes, ", count);
    if (count > 1)
        strbuf_add(o->out, "each ");
    text_add_clean(o->out, "%s)", what ? what : "");
    strbuf_add(o->out, "\n");
}

/* Print the notes of the nodes' profiles, consecutive equal ones together. */
static void print_notes(const struct plan_print *o, const struct node_profile *nodes, int n)
{
    int notes = 0;

    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && strcmp(nodes[i].note, nodes[end].note) == 0;)
            end++;
        if (!nodes[i].note[0] || ++notes > MAX_NODE_LINES)
            continue;
        strbuf_addf(o->out, "%14s", "");
        print_names(o, nodes, i, end);
        text_add_clean(o->out, ": %s", nodes[i].note);
        strbuf_add(o->out, "\n");
    }
    if (notes > MAX_NODE_LINES)
        strbuf_addf(o->out, "%14s... and %d more such notes\n", "", notes - MAX_NODE_LINES);
}

/* Print the number of all nodes, then a line for each run of consecutive nodes with equal
 * descriptions.
 */
void plan_print_nodes(const struct plan_print *o, const struct node_profile *nodes, int n)
{
    int lines = 0;

    print_label(o, "nodes");
    strbuf_addf(o->out, "%-4d", n);
    for (int first = 0, end; first < n; first = end) {
        cleanup_free char *what = describe_node(&nodes[first]);

        for (end = first + 1; end < n; end++) {
            cleanup_free char *other = describe_node(&nodes[end]);

            if (!what || !other || strcmp(what, other) != 0)
                break;
        }
        if (lines++ > 0)
            strbuf_addf(o->out, "%14s", "");
        if (lines > MAX_NODE_LINES) {
            strbuf_addf(o->out, "... and %d more\n", n - first);
            break;
        }
        print_alike(o, nodes, first, end, n, what);
    }
    print_notes(o, nodes, n);
}

/* ---- profile ---- */

/* Append "4 emulated devices", the number of devices of a kind on all nodes, if there are any. */
static void add_count(struct strbuf *b, const struct node_profile *nodes, int n,
                      enum device_kind kind, const char *thing)
{
    char number[NUMBER_SIZE];
    int count = 0;

    for (int i = 0; i < n; i++)
        count += profile_count(&nodes[i], kind);
    if (count > 0)
        strbuf_addf(b, "%s%s", b->len ? ", " : "", number_of(count, thing, number));
}

/* Check whether the node's profile was measured: it is not if all its devices are emulated. */
static bool is_measured(const struct node_profile *node)
{
    return profile_count(node, DEVICE_EMULATED) < node->n_devices || !node->n_devices;
}

/* Return the remark that fits if `count` of n nodes are concerned, one of the arguments: "" for
 * none; else `one` if n is 1, `some` if not all are concerned, or `all`.
 */
static const char *caveat(int count, int n, const char *one, const char *some, const char *all)
{
    return count == 0 ? "" : n == 1 ? one : count < n ? some : all;
}

void plan_print_profiles(const struct plan_print *o, const struct node_profile *nodes, int n)
{
    cleanup_strbuf struct strbuf b = { 0 };
    char age[NUMBER_SIZE];
    int64_t oldest_s = INT64_MAX;
    int measured = 0, cached = 0, busy = 0, disturbed = 0;
    const char *beside;

    add_count(&b, nodes, n, DEVICE_EMULATED, "emulated device");
    add_count(&b, nodes, n, DEVICE_CUDA, "GPU");
    add_count(&b, nodes, n, DEVICE_CPU, "CPU device"); /* many read "CPU" alone as a core */
    for (int i = 0; i < n; i++) {
        if (!is_measured(&nodes[i]))
            continue;
        measured++;
        disturbed += nodes[i].beside[0] != '\0';
        if (!nodes[i].cached)
            continue;
        cached++;
        busy += profile_is_busy(nodes[i].load, nodes[i].threads);
        if (nodes[i].measured_s < oldest_s)
            oldest_s = nodes[i].measured_s;
    }
    beside = caveat(disturbed, measured, ", beside another job", ", some beside other jobs",
                    ", beside other jobs");
    print_label(o, "profile");
    strbuf_addf(o->out, "%s, ", strbuf_text(&b));
    if (measured == 0) {
        strbuf_add(o->out, "from the times that the job gives\n");
        return;
    }
    if (cached == 0) {
        strbuf_addf(o->out, "measured now%s\n", beside);
        return;
    }
    if (cached < measured)
        strbuf_addf(o->out, "%d of %d nodes ", cached, measured);
    number_age(o->now_s - oldest_s, age);
    strbuf_addf(o->out, "cached %s%s%s%s\n", age, strcmp(age, "now") == 0 ? "" : " ago",
                caveat(busy, cached, ", measured on a busy machine",
                       ", some measured on busy machines", ", measured on busy machines"),
                disturbed ? ", others measured beside other jobs" : "");
}

/* Columns of --profile. */
static const struct table_column device_columns[] = {
    { "node", false },        { "device", false },      { "name", false },
    { "cores", false },       { "memory", true },       { "fp32 TFLOP/s", true },
    { "tf32 TFLOP/s", true }, { "bf16 TFLOP/s", true }, { "fp16 TFLOP/s", true },
    { "memory GB/s", true },  { "to GB/s", true },      { "from GB/s", true },
};

/* Append a cell with x / unit to t; "-" if x was not measured. */
static void add_scaled(struct table *t, double x, double unit)
{
    char n[NUMBER_SIZE];

    table_add(t, "%s", isfinite(x) && x > 0 ? number_rate(x / unit, n) : "-");
}

/* Append the row of device d of this host to the table of --profile. */
static void add_device(struct table *t, const char *host, const struct device *d)
{
    char n[NUMBER_SIZE];

    table_add(t, "%s", host);
    table_add(t, "%s", d->id);
    if (d->kind == DEVICE_EMULATED)
        table_add(t, "emulated %.4g: %.4g ms + %.4g ms a sample", d->rate, d->fixed_s * 1e3,
                  d->sample_s * 1e3 / d->rate);
    else
        table_add(t, "%s", d->name);
    table_add(t, "%s", d->cpus);
    table_add(t, "%s", d->memory_bytes > 0 ? number_bytes((double)d->memory_bytes, n) : "-");
    add_scaled(t, d->fp32_flops, 1e12);
    add_scaled(t, d->tf32_flops, 1e12);
    add_scaled(t, d->bf16_flops, 1e12);
    add_scaled(t, d->fp16_flops, 1e12);
    add_scaled(t, d->memory_bytes_per_s, 1e9);
    add_scaled(t, d->to_device_bytes_per_s, 1e9);
    add_scaled(t, d->from_device_bytes_per_s, 1e9);
}

void plan_print_devices(const struct plan_print *o, const struct node_profile *nodes, int n)
{
    cleanup_table struct table t = { .column = device_columns,
                                     .n_columns = sizeof device_columns / sizeof *device_columns };

    for (int i = 0; i < n; i++)
        for (int d = 0; d < nodes[i].n_devices; d++)
            add_device(&t, nodes[i].host, &nodes[i].device[d]);
    table_print(&t, 2, o->out);
}

/* ---- plan ---- */

/* Print how the plan's predicted speed compares with that of an equal split, and end the line that
 * print_speed has begun.
 */
static void print_equal(const struct plan_print *o, const struct plan *p)
{
    double gain = p->predicted_samples_per_s / p->equal_samples_per_s;
    char n[NUMBER_SIZE];

    if (fabs(gain - 1) < 0.005)
        strbuf_add(o->out, "; an equal split would give the same\n");
    else if (p->relative)
        strbuf_addf(o->out, "; %s an equal split\n",
                    number_times(p->predicted_samples_per_s, p->equal_samples_per_s, n));
    else
        strbuf_addf(o->out, "; an equal split would give %s\n",
                    number_rate(p->equal_samples_per_s, n));
}

/* Print the plan's predicted speed and its share of the sum of the devices' speeds. For a single
 * worker print only the speed, and nothing if only ratios are known.
 */
static void print_speed(const struct plan_print *o, const struct plan *p)
{
    char n[NUMBER_SIZE];

    if (p->n_workers == 1 && p->relative)
        return;
    strbuf_add(o->out, "  predicted ");
    if (!p->relative)
        strbuf_addf(o->out, "%s samples/s", number_rate(p->predicted_samples_per_s, n));
    if (p->n_workers == 1) {
        strbuf_add(o->out, "\n");
        return;
    }
    strbuf_addf(o->out, "%s%s of the devices' sum", p->relative ? "" : ", ",
                number_percent(p->predicted_samples_per_s, p->ideal_samples_per_s, n));
    print_equal(o, p);
    if (p->relative)
        strbuf_add(
            o->out,
            "  only the ratios of the devices' speeds are known, not their samples per second\n");
}

/* Print that the prediction leaves out exchanges between nodes, if the size of the model is
 * unknown.
 */
static void print_unmeasured(const struct plan_print *o, const struct plan *p)
{
    if (p->n_nodes > 1 && p->n_workers > 1 && p->model_bytes == 0 && !p->relative)
        strbuf_add(o->out,
                   "  predicted without exchanges between nodes, because no run has measured the "
                   "size of the model\n");
}

/* Print that one worker alone would make more progress than all workers of the plan, and what would
 * change it, if so.
 */
static void print_alone(const struct plan_print *o, const struct plan *p)
{
    double alone, planned = plan_progress(p);
    int rank = plan_alone(p, &alone);
    char times[NUMBER_SIZE];

    if (p->n_workers == 1 || p->model_bytes == 0 || p->relative || !(planned > 0) ||
        !(alone > planned))
        return;
    strbuf_add(o->out, "  ");
    paint(o, YELLOW, "slower than one worker");
    text_add_clean(o->out, ": rank %d on %s alone would make %s the progress; ", rank,
                   p->node[p->worker[rank].node], number_times(alone, planned, times));
    strbuf_addf(o->out, "%s%s would help\n", o->drops ? "" : "nodes.drop: auto, ",
                p->n_nodes > 1 ? "fewer nodes (-H), a larger batch.global or a faster network"
                               : "fewer workers (workers_per_node) or a larger batch.global");
}

/* Print which workers the plan leaves out, and why. */
static void print_left(const struct plan_print *o, const struct plan *p)
{
    char text[512];

    for (int i = 0; i < p->n_left; i++) {
        plan_left_text(&p->left[i], text, sizeof text);
        strbuf_add(o->out, "  ");
        paint(o, YELLOW, "left out");
        text_add_clean(o->out, ": %s", text);
        strbuf_add(o->out, "\n");
    }
}

/* Print the ranks whose batch is as large as their memory allows, at most a few; the speeds alone
 * would give them more.
 */
static void print_memory(const struct plan_print *o, const struct plan *p)
{
    enum { MOST = 8 };
    int n = 0;

    for (int i = 0; i < p->n_workers && !p->takes_pieces; i++) {
        const struct plan_worker *w = &p->worker[i];

        if (w->piece > 0 && w->batch >= w->piece && n++ < MOST)
            strbuf_addf(o->out, "%s%d", n == 1 ? "  memory limits the batch of rank " : ", ", i);
    }
    if (n > 0)
        strbuf_add(o->out, n > MOST ? " and others\n" : "\n");
}

/* Borrow the name of a candidate's mode, or of its algorithm if that must be asked for by name. */
static const char *candidate_name(const struct plan_candidate *c)
{
    return algorithm_has(c->algorithm, ALGORITHM_NAMED) ? c->algorithm : c->mode;
}

/* Print the row of a candidate for the mode; '*' marks the chosen one. */
static void print_candidate(const struct plan_print *o, const struct plan_candidate *c)
{
    char speed[NUMBER_SIZE], progress[NUMBER_SIZE];

    text_add_clean(o->out, "  %s %-6s  %10s  %10.2f  %10s", c->lost[0] ? " " : "*",
                   candidate_name(c), number_rate(c->predicted_samples_per_s, speed), c->efficiency,
                   number_rate(c->predicted_progress, progress));
    strbuf_add(o->out, "\n");
}

/* Print which modes' efficiencies are guesses, that is measured with another program. */
static void print_guesses(const struct plan_print *o, const struct plan *p)
{
    int n = 0;

    for (int i = 0; i < p->n_candidates; i++)
        if (p->candidate[i].predicted_samples_per_s > 0 && !p->candidate[i].measured &&
            algorithm_has(p->candidate[i].algorithm, ALGORITHM_SEVERAL))
            strbuf_addf(o->out, "%s%s", n++ ? ", " : "  efficiency guessed from another program: ",
                        candidate_name(&p->candidate[i]));
    if (n)
        strbuf_add(o->out, "\n\n");
}

/* Print the table of modes with their predicted progress. Print nothing if the model's size is
 * unknown, only ratios of speeds are known, or there is one worker.
 */
static void print_modes(const struct plan_print *o, const struct plan *p)
{
    char n[NUMBER_SIZE];

    if (p->model_bytes == 0 || p->relative || p->n_workers == 1)
        return;
    strbuf_addf(o->out, "  modes, for a model of %s\n\n", number_bytes((double)p->model_bytes, n));
    strbuf_add(o->out, "    mode     samples/s  efficiency    progress\n");
    for (int i = 0; i < p->n_candidates; i++)
        if (p->candidate[i].predicted_samples_per_s > 0) /* else it is not known */
            print_candidate(o, &p->candidate[i]);
    strbuf_add(o->out, "\n");
    print_guesses(o, p);
}

/* Print by which rates the plan compares GPUs, if those are not the rates of fp32. */
static void print_precision(const struct plan_print *o, const struct plan *p)
{
    bool probed = false;

    for (int i = 0; i < p->n_workers; i++)
        probed |= p->worker[i].kind == DEVICE_CUDA && p->worker[i].time == TIME_PROBE;
    if (probed && p->program.precision > PRECISION_FP32)
        strbuf_addf(o->out, "  GPUs are compared by their rates in %s\n",
                    precision_name(p->program.precision));
}

/* Print after how many steps models are combined. */
static void print_every(const struct plan_print *o, double steps)
{
    char n[NUMBER_SIZE];

    if (floor(steps) < steps)
        strbuf_addf(o->out, "every %s steps", number_rate(steps, n));
    else
        strbuf_addf(o->out, "every %s", steps == 1 ? "step" : number_of((int64_t)steps, "step", n));
}

/* Print the lengths of the rounds, if they do not all have the period. */
static void print_lengths(const struct plan_print *o, const struct plan *p)
{
    double most = modes_longest_round(p->epoch_steps, p->options.period);
    double least = modes_shortest_round(p->epoch_steps, p->options.period);

    if (p->epoch_steps > 0 && p->epoch_steps < (double)p->options.period)
        strbuf_add(o->out, ", since an epoch has no more");
    else if (most < (double)p->options.period)
        strbuf_add(o->out, ", since equal rounds fill an epoch");
    else if (least < most && p->options.period > 1) {
        strbuf_add(o->out, ", in the last two rounds of an epoch ");
        print_every(o, least);
    }
}

/* Print how often groups combine their models, if they do so in rounds, and for what they wait
 * then.
 */
static void print_rounds(const struct plan_print *o, const struct plan *p)
{
    double steps = modes_longest_round(p->epoch_steps, p->options.period);
    double round_s = steps * (double)p->global_batch / p->predicted_samples_per_s;

    if (!algorithm_has(p->algorithm, ALGORITHM_ROUNDS))
        return;
    strbuf_add(o->out, "  models are combined ");
    print_every(o, steps);
    print_lengths(o, p);
    if (!p->relative && p->predicted_samples_per_s > 0)
        strbuf_addf(o->out, ", predicted to be every %.3g s", round_s);
    strbuf_add(o->out, "; checkpoints and stops wait for that\n");
}

/* Print the predictions below the plan's table: speed, modes, communication, and whether devices
 * are emulated.
 */
static void print_predictions(const struct plan_print *o, const struct plan *p)
{
    strbuf_add(o->out, "\n");
    print_speed(o, p);
    print_rounds(o, p);
    print_unmeasured(o, p);
    print_left(o, p);
    print_alone(o, p);
    print_memory(o, p);
    print_precision(o, p);
    print_modes(o, p);
    if (p->choice && p->choice->reason[0]) {
        text_add_clean(o->out, "  communication: %s", p->choice->reason);
        strbuf_add(o->out, "\n");
    }
    if (p->emulated) {
        strbuf_add(o->out, "  ");
        paint(o, YELLOW, "emulated");
        strbuf_add(o->out, ": workers emulate devices of these speeds by waiting\n");
    }
}

/* Print the line of the network that the workers use, and why; nothing if the plan has none. */
static void print_network(const struct plan_print *o, const struct plan *p)
{
    if (!p->network[0])
        return;
    print_label(o, "network");
    text_add_clean(o->out, "%s", p->network);
    if (strncmp(p->network, "127.", 4) == 0) /* perhaps by mistake: its devices serve twice */
        strbuf_add(o->out, ", since all nodes are one machine under several names");
    text_add_clean(o->out, "%s%s", p->network_reason[0] ? ", " : "", p->network_reason);
    strbuf_add(o->out, "\n");
}

/* Print the mode with its parameters: "hybrid, hsgd, 4 groups, period 16, moving rate 0.22", or
 * with what combines the gradients instead of libeddis: "sync, gradients by torch", "local, local,
 * 2 groups, period 16, gradients by torch".
 */
static void print_mode(const struct plan_print *o, const struct plan *p)
{
    bool external = program_is_external(&p->program);
    char n[NUMBER_SIZE];

    if (external && !algorithm_has(p->algorithm, ALGORITHM_ROUNDS)) {
        text_add_clean(o->out, "%s, gradients by %s", p->mode, p->program.gradients);
        return;
    }
    strbuf_addf(o->out, "%s, %s", p->mode, p->algorithm);
    if (algorithm_has(p->algorithm, ALGORITHM_GROUPED))
        strbuf_addf(o->out, ", %s", number_of(p->n_groups, "group", n));
    if (algorithm_has(p->algorithm, ALGORITHM_ELASTIC))
        strbuf_addf(o->out, ", period %lld, moving rate %.3g", (long long)p->options.period,
                    p->options.moving_rate);
    if (algorithm_has(p->algorithm, ALGORITHM_ROUNDS))
        strbuf_addf(o->out, ", period %lld", (long long)p->options.period);
    if (p->options.overlap)
        strbuf_addf(o->out, ", overlap %lld", (long long)p->options.overlap);
    if (algorithm_has(p->algorithm, ALGORITHM_OUTER))
        strbuf_addf(o->out, ", outer rate %.3g, outer momentum %.3g", p->options.outer_rate,
                    p->options.outer_momentum);
    if (external)
        text_add_clean(o->out, ", gradients by %s", p->program.gradients);
    else if (sync_wire_is_half(p->options.wire))
        strbuf_addf(o->out, ", %s between nodes", sync_wire_name(p->options.wire));
}

/* Print why this plan was chosen. */
static void print_reason(const struct plan_print *o, const struct plan *p)
{
    text_add_clean(o->out, "  %s", p->reason);
    strbuf_add(o->out, "\n");
}

void plan_print_plan(const struct plan_print *o, const struct plan *p, const char *remark)
{
    char batch[NUMBER_SIZE];

    print_network(o, p);
    print_label(o, "plan");
    print_mode(o, p);
    strbuf_addf(o->out, ", global batch %s",
                text_grouped((double)p->global_batch, batch, sizeof batch));
    if (remark)
        text_add_clean(o->out, ", %s", remark);
    strbuf_add(o->out, "\n\n");
    plan_table_print(p, o->out);
    print_predictions(o, p);
    print_reason(o, p);
}

/* ---- workers, if no plan is shown ---- */

/* Print where the plan's workers run: ": ranks 0-3 on node1, 4-7 on node2" for up to MOST nodes,
 * else ": 4 on each node" or ": 2 to 4 on a node".
 */
static void print_places(const struct plan_print *o, const struct plan *p,
                         const struct node_profile *nodes)
{
    enum { MOST = 4 };
    int n = 0, least = p->n_workers, most = 0;

    for (int i = 0, end; i < p->n_workers; i = end, n++) {
        for (end = i + 1; end < p->n_workers && p->worker[end].node == p->worker[i].node;)
            end++;
        least = end - i < least ? end - i : least;
        most = end - i > most ? end - i : most;
        if (p->n_nodes > MOST)
            continue;
        strbuf_addf(o->out, "%s%d", n ? ", " : ": ranks ", i);
        if (end - i > 1)
            strbuf_addf(o->out, "-%d", end - 1);
        text_add_clean(o->out, " on %s", nodes[p->worker[i].node].host);
    }
    if (p->n_nodes <= MOST)
        return;
    if (least == most)
        strbuf_addf(o->out, ": %d on each node", most);
    else
        strbuf_addf(o->out, ": %d to %d on a node", least, most);
}

/* Print the line about the plan's workers that is shown in place of the plan. */
static void print_workers(const struct plan_print *o, const struct plan *p,
                          const struct node_profile *nodes)
{
    int n = p->n_workers, gpus = 0;

    for (int i = 0; i < n; i++)
        gpus += p->worker[i].kind == DEVICE_CUDA;
    print_label(o, "workers");
    strbuf_addf(o->out, "%-4d", n);
    if (gpus > 0 && gpus < n)
        strbuf_addf(o->out, "%d on GPUs, %d on CPU cores", gpus, n - gpus);
    else
        strbuf_add(o->out, gpus ? "on GPUs" : "on CPU cores");
    if (p->n_nodes > 1)
        print_places(o, p, nodes);
    strbuf_add(o->out, "; no plan, unless the program uses eddis (-v shows one)\n");
}

/* Check whether text contains this line, the first n bytes of `line` with its newline. */
static bool has_line(const char *text, const char *line, size_t n)
{
    for (; *text; text += strcspn(text, "\n") + 1)
        if (strncmp(text, line, n) == 0)
            return true;
    return false;
}

/* Check whether the line begins with this label, bold or plain. */
static bool is_label(const char *line, const char *label)
{
    line += strncmp(line, BOLD, sizeof BOLD - 1) == 0 ? sizeof BOLD - 1 : 0;
    return strncmp(line, label, strlen(label)) == 0;
}

/* Print the lines of `now` that are not in `before`: rows of a table below the table's head,
 * paragraphs with an empty line before them. If the line that begins with `label` is in both, print
 * "as before, but" in its place before the first changed line, or "as before" if none follows.
 */
static void print_changes(const struct plan_print *o, const char *label, const char *before,
                          const char *now)
{
    const char *head = NULL;
    bool same = false, blank = false;

    for (size_t n; *now; now += n) {
        bool old = has_line(before, now, n = strcspn(now, "\n") + 1);

        same = same || (old && is_label(now, label));
        head = is_label(now, "  rank ") ? now : *now == '\n' ? NULL : head;
        blank = blank || *now == '\n';
        if (old)
            continue;
        if (same) {
            print_label(o, label);
            strbuf_add(o->out, "as before, but\n");
        }
        if (blank)
            strbuf_add(o->out, "\n");
        if (head && head != now)
            strbuf_addf(o->out, "%.*s", (int)strcspn(head, "\n") + 1, head);
        head = NULL;
        same = blank = false;
        strbuf_addf(o->out, "%.*s", (int)n, now);
    }
    if (!same)
        return;
    print_label(o, label);
    strbuf_add(o->out, "as before\n");
}

/* Print text, or only its changes if there was a text before it. Then move it to *before. Without
 * memory for the text do nothing.
 */
static void print_again(const struct plan_print *o, const char *label, struct strbuf *text,
                        struct strbuf *before)
{
    if (text->failed) {
        strbuf_fini(text);
        return;
    }
    if (before->len)
        print_changes(o, label, strbuf_text(before), strbuf_text(text));
    else
        strbuf_add(o->out, strbuf_text(text));
    strbuf_fini(before);
    *before = *text;
}

void plan_print_again(const struct plan_print *o, const struct plan *p, const char *remark,
                      struct strbuf *before)
{
    struct strbuf text = { 0 };
    struct plan_print to = *o;

    to.out = &text;
    plan_print_plan(&to, p, remark);
    print_again(o, "plan", &text, before);
}

void plan_print_workers(const struct plan_print *o, const struct plan *p,
                        const struct node_profile *nodes, struct strbuf *before)
{
    struct strbuf text = { 0 };
    struct plan_print to = *o;

    to.out = &text;
    print_workers(&to, p, nodes);
    print_again(o, "workers", &text, before);
}

char *plan_print_settled(const struct plan *p, bool colour)
{
    struct strbuf text = { 0 };
    const struct plan_print o = { .out = &text, .colour = colour };

    print_label(&o, "mode");
    print_mode(&o, p);
    strbuf_add(&text, "\n\n");
    if (algorithm_has(p->algorithm, ALGORITHM_SEVERAL)) { /* the batches differ from the plan's */
        plan_table_print(p, &text);
        strbuf_add(&text, "\n");
    }
    print_modes(&o, p);
    print_reason(&o, p);
    strbuf_add(&text, "\n");
    return strbuf_steal(&text);
}
