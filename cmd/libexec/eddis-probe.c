/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-probe.c - measures this node's devices and prints its profile as JSON, or follows what its
 * GPUs do; started by the agent
 */
#include "agents/node/watch/gpu_watch.h"
#include "cmd/shared/options.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/program.h"
#include "lib/gpu/gpu_reader.h"
#include "lib/model/gpu_state_json.h"
#include "lib/topo/near_nic.h"
#include "profiler/profiler.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_MS = 2000 }; /* pause between two readings of the GPUs */
enum { NIC = sizeof((struct gpu_state *)0)->nic };

static const struct option_row rows[] = {
    { "emulate", 0, "RATE:A_S:C_S", "a device that a CPU emulates; may be repeated" },
    { "cache-seconds", 0, "N",
      "use a cached profile up to N seconds old (604800; 0: measure again)" },
    { "cpus-only", 0, NULL, "the job uses no GPU: only note a failure of their driver" },
    { "kept-only", 0, NULL, "measure nothing; exit with 3 if the cached profile is not complete" },
    { "gpus", 0, NULL, "print the number and the id of each GPU, and measure nothing" },
    { GPU_WATCH_OPTION, 0, "ID,...",
      "print what these GPUs do, a line of JSON each, every 2 s; exit with 4 without NVML" },
    { "help", 'h', NULL, "print this help" },
    { "version", 0, NULL, "print the version" },
};

static const char *const use[] = { "[option ...]", NULL };

static const struct option_table table = {
    .program = "eddis-probe",
    .summary = "measure this node's devices and print them as JSON",
    .use = use,
    .row = rows,
    .n = sizeof rows / sizeof *rows,
    .footer = "A step of b samples on an emulated device takes A_S + C_S * b / RATE seconds.\n"
              "Profiles are kept in $XDG_CACHE_HOME/eddis, or ~/.cache/eddis.\n",
};

/* Options of the command line. */
struct probe_options {
    struct profiler_options profiler;
    struct job_emulated emulate[JOB_MAX_EMULATED];
    bool gpus;     /* only print them */
    char *watched; /* ids of GPUs to follow, with commas; NULL: measure the node */
};

/* Parse "RATE:A_S:C_S", the value of --emulate, into *ret. Return 0 or -EINVAL. */
static int parse_emulated(const char *s, struct job_emulated *ret, struct eddis_error *err)
{
    int n = 0;

    if (sscanf(s, "%lf:%lf:%lf%n", &ret->rate, &ret->fixed_s, &ret->sample_s, &n) != 3 || s[n])
        return eddis_fail(err, -EINVAL,
                          "--emulate '%.80s' is not RATE:A_S:C_S; write it like 0.5:0.002:0.0001",
                          s);
    return 0;
}

/* Parse a whole number of seconds, the value of --cache-seconds, and store it in ns in *ret_ns.
 * Return 0 or -EINVAL.
 */
static int parse_seconds(const char *s, int64_t *ret_ns, struct eddis_error *err)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(s, &end, 10);
    if (errno || end == s || *end || n < 0 || n > INT64_MAX / CLOCK_S)
        return eddis_fail(err, -EINVAL, "--cache-seconds '%.40s' is not a number of seconds", s);
    *ret_ns = n * CLOCK_S;
    return 0;
}

/* Store one option of the command line in *w. Return 0 or -EINVAL. */
static int take_option(const struct options_item *item, struct probe_options *w,
                       struct eddis_error *err)
{
    if (!item->row)
        return eddis_fail(err, -EINVAL, "'%.80s' is not an option; see eddis-probe --help",
                          item->value);
    if (options_is(item, "cache-seconds"))
        return parse_seconds(item->value, &w->profiler.cache_ns, err);
    if (options_is(item, "cpus-only")) {
        w->profiler.cpus_only = true;
        return 0;
    }
    if (options_is(item, "gpus")) {
        w->gpus = true;
        return 0;
    }
    if (options_is(item, "kept-only")) {
        w->profiler.kept_only = true;
        return 0;
    }
    if (options_is(item, GPU_WATCH_OPTION)) {
        w->watched = (char *)(uintptr_t)item->value;
        return 0;
    }
    if (w->profiler.n_emulate == JOB_MAX_EMULATED)
        return eddis_fail(err, -EINVAL, "more than %d emulated devices", JOB_MAX_EMULATED);
    return parse_emulated(item->value, &w->emulate[w->profiler.n_emulate++], err);
}

/* Parse the command line into *w. Return 0; 1 if --help or --version was printed and nothing is
 * left to do; -EINVAL: err names the mistake.
 */
static int parse(int argc, char **argv, struct probe_options *w, struct eddis_error *err)
{
    struct options options = { .table = &table, .argc = argc, .argv = argv };
    struct options_item item;
    int rc;

    while ((rc = options_next(&options, &item, err)) == 1) {
        if (options_is(&item, "help") || options_is(&item, "version")) {
            options_about(&table, options_is(&item, "version"));
            return 1;
        }
        rc = take_option(&item, w, err);
        if (rc < 0)
            break;
    }
    return rc;
}

/* Print a node's profile as one line of JSON on standard output. Return 0 or a negative error. */
static int print(const struct node_profile *p, struct eddis_error *err)
{
    cleanup_free char *text = profile_text(p);

    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory for the profile's text");
    if (printf("%s\n", text) < 0 || fflush(stdout) != 0)
        return eddis_fail_errno(err, -errno, "cannot write the profile");
    return 0;
}

/* Print n readings, each as a line of JSON. Return false if nobody reads them. */
static bool print_states(const struct gpu_state *s, int n)
{
    for (int i = 0; i < n; i++) {
        cleanup_free char *text = fields_text(&gpu_state_table, &s[i]);

        if (text)
            printf("%s\n", text);
    }
    return fflush(stdout) == 0;
}

/* Write the first of near_nic_find's network cards and the way to it to ret; "": there is none. */
static void find_nic(const char *pci, char *ret, size_t size)
{
    char all[128], *way;

    near_nic_find("", pci, all, sizeof all);
    way = strchr(all, ' ');
    if (way)
        way[1 + strcspn(way + 1, " ")] = '\0';
    (void)snprintf(ret, size, "%.*s", (int)size - 1, all);
}

/* Store the state of the GPUs in ret, with their nearest network cards, for which the first reading
 * looks; later ones take them from nic. Return their number.
 */
static int read_states(struct gpu_reader *r, char (*nic)[NIC], struct gpu_state *ret)
{
    int n = gpu_reader_read(r, ret);

    for (int i = 0; i < n; i++) {
        if (ret[i].reading == 1)
            find_nic(ret[i].pci, nic[i], NIC);
        memcpy(ret[i].nic, nic[i], NIC);
    }
    return n;
}

/* Follow the GPUs with these ids until the agent, the parent, ends this process or reads no longer.
 * Return the exit code.
 */
static int watch_gpus(char *ids)
{
    static const char *id[PROFILE_MAX_DEVICES];
    static struct gpu_state state[PROFILE_MAX_DEVICES];
    static char nic[PROFILE_MAX_DEVICES][NIC];
    struct gpu_reader *r;
    int n = 0;

    for (char *one; n < PROFILE_MAX_DEVICES && (one = strsep(&ids, ","));)
        id[n++] = one;
    if (gpu_reader_open(id, n, getppid(), &r, NULL) < 0)
        return GPU_WATCH_EXIT_NONE;
    while (print_states(state, read_states(r, nic, state)))
        gpu_reader_wait(r, READ_MS);
    gpu_reader_close(r);
    return 0;
}

/* Print "INDEX ID" of each GPU of the profile, a line each. Return 0 or a negative error. */
static int print_gpus(const struct node_profile *p, struct eddis_error *err)
{
    for (int i = 0; i < p->n_devices; i++)
        (void)printf("%d %s\n", p->device[i].index, p->device[i].id);
    return fflush(stdout) == 0 ? 0 : eddis_fail_errno(err, -errno, "cannot write the list");
}

/* Print the profile of this node's cores, memory and GPUs, from the cache or measured, as a line of
 * JSON.  Return 0, EXIT_USAGE, 1 after another error, or PROFILER_EXIT_UNMEASURED: --kept-only was
 * given, and the cached profile is not complete.
 */
int main(int argc, char **argv)
{
    static struct probe_options o;
    static struct node_profile p;
    cleanup_free char *dir = file_cache_dir();
    struct eddis_error err = { 0 };
    int rc;

    program_outlive_file_limit();
    o.profiler = (struct profiler_options){
        .cache_dir = dir,
        .cache_ns = INT64_C(7) * 86400 * CLOCK_S,
        .visible = getenv("CUDA_VISIBLE_DEVICES"),
        .emulate = o.emulate,
        .job_id = getenv("EDDIS_JOB_ID"),
    };
    rc = parse(argc, argv, &o, &err);
    if (rc == 1)
        return 0;
    if (rc < 0) {
        fprintf(stderr, "eddis-probe: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (o.watched)
        return watch_gpus(o.watched);
    /* Exit codes of measuring children are needed, even if our parent ignored SIGCHLD. */
    (void)signal(SIGCHLD, SIG_DFL);
    rc = o.gpus ? profiler_gpus(&p, &err) : profiler_run(&o.profiler, &p, &err);
    if (rc == 0)
        rc = o.gpus ? print_gpus(&p, &err) : print(&p, &err);
    if (rc < 0)
        fprintf(stderr, "eddis-probe: %s\n", err.text);
    return rc == -EINVAL ? EXIT_USAGE : rc == -ENODATA ? PROFILER_EXIT_UNMEASURED : rc < 0;
}
