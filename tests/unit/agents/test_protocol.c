/* SPDX-License-Identifier: Apache-2.0 */
/* test_protocol.c - tests of agents/protocol/protocol.h */
#include "agents/protocol/protocol.h"
#include "agents/protocol/protocol_join.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/random.h"
#include "lib/eddis.h"
#include "lib/http/server.h"
#include "suite.h"
#include "tests/unit/wiped.h"

#include <errno.h>
#include <math.h>
#include <string.h>

_Static_assert(EXIT_MEMORY == EDDIS_EXIT_MEMORY, "what programs say is understood");

/* A string that may be written to, as the structs want them. */
#define S(literal) ((char[]){ literal })

/* The text of what was parsed again from a text; NULL when it was refused.  One for each kind of
 * message, so that every test below runs over all of them.
 */
typedef char *(*again_fn)(const char *text, size_t n, struct eddis_error *err);

static char *agent_config_again(const char *text, size_t n, struct eddis_error *err)
{
    struct agent_config *b;
    char *ret;

    if (agent_config_parse(text, n, &b, err) < 0)
        return NULL;
    ret = agent_config_text(b);
    agent_config_free(b);
    return ret;
}

static char *hello_again(const char *text, size_t n, struct eddis_error *err)
{
    struct hello h;

    return hello_parse(text, n, &h, err) < 0 ? NULL : hello_text(&h);
}

static char *order_again(const char *text, size_t n, struct eddis_error *err)
{
    struct order *o;
    char *ret;

    if (order_parse(text, n, &o, err) < 0)
        return NULL;
    ret = order_text(o);
    order_free(o);
    return ret;
}

static char *report_again(const char *text, size_t n, struct eddis_error *err)
{
    struct report *r;
    char *ret;

    if (report_parse(text, n, &r, err) < 0)
        return NULL;
    ret = report_text(r);
    report_free(r);
    return ret;
}

static char *invitation_again(const char *text, size_t n, struct eddis_error *err)
{
    struct invitation *i;
    char *ret;

    if (invitation_parse(text, n, &i, err) < 0)
        return NULL;
    ret = invitation_text(i);
    invitation_free(i);
    return ret;
}

static char *join_again(const char *text, size_t n, struct eddis_error *err)
{
    struct join j;

    return join_parse(text, n, &j, err) < 0 ? NULL : join_text(&j);
}

static char *sample_agent_config(void)
{
    char *command[] = { S("python3"), S("train.py"), S("\xff\xfe not UTF-8"), NULL };
    char *env[] = { S("A=1"), S("B=two words"), S("EMPTY="), NULL };
    char *none[] = { NULL };
    char *url[] = { S("https://127.0.0.1:41233"), S("https://[fd00::7]:41233"), NULL };
    char *setup[] = { S("source /opt/venv/bin/activate"), NULL };
    char *mca[] = { S("btl_base_verbose"), S("30"), NULL };
    struct agent_config b = {
        .agent = 3,
        .job_id = "digits-1",
        .mark = "0123456789abcdef0123456789abcdef",
        .host = "login1",
        .url = url,
        .pin = "sha256//AAAA",
        .setup = setup,
        .log_marker = "fedcba9876543210fedcba9876543210",
        .restarts = 3,
        .token = "0123abcd",
        .command = command,
        .python_from = S("train.yaml:7"),
        .workdir = S("/tmp/w\xc3\xa9"),
        .env = env,
        .log_dir = S("/l\xe9og"),
        .fence_job = "slurm-c-12",
        .fence_before = 1000,
        .mpi_args = none,
        .mpi_mca = mca,
        .bind = true,
        .gpus_ns = 600000000000,
        .log_max_bytes = 1 << 20,
        .emulate = { { 1, 0.002, 0.0001 }, { 0.25, 0.002, 0.0001, 0.05 } },
        .n_emulate = 2,
        .lease_ns = 10 * CLOCK_S,
        .heartbeat_ns = CLOCK_S,
    };

    return agent_config_text(&b);
}

static char *sample_hello(void)
{
    struct hello h = { .protocol = PROTOCOL_VERSION,
                       .pid = 4711,
                       .host = "login1",
                       .eddis_version = "0.1.0",
                       .mpi_version = "Open MPI 4.1.4",
                       .machine = "6f0c1e5e-2f0b-4a55-9d63-5d6c3b1f7a10",
                       .mpi_guarded = true,
                       .shared_logs = true,
                       .log_dir = "/home/me/job/logs",
                       .address = { { "eth0", "10.1.0.7", 24, 1000, false },
                                    { "docker0", "172.17.0.1", 16, 0, true } },
                       .n_addresses = 2 };

    return hello_text(&h);
}

static char *sample_invitation(void)
{
    char url[] = "https://10.1.0.7:41233", *urls[] = { url, NULL };
    struct invitation i = {
        .url = urls, .pin = "sha256//abc=", .secret = "00000002ff", .lease_ns = 10 * CLOCK_S
    };

    return invitation_text(&i);
}

static char *sample_join(void)
{
    return join_text(&(struct join){ "n07", "0123456789abcdef0123456789abcdef" });
}

static struct order_rank sample_ranks[] = {
    { 1, 0, "emulated:0", "0-1,4", 94, 0.5, 0.002, 0.0001 },
    { 2, 1, "GPU-8d1f", "", 94, 0.5, 0, 0 },
};
static int64_t sample_batch[] = { 0, 94, 94 }, sample_piece[] = { 0, 0, 47 };
static struct board_plan sample_board_plan = {
    .version = 2, .global_batch = 188, .period = 32, .batch = sample_batch, .piece = sample_piece
};

static struct comm_choice sample_choice = { .version = 2,
                                            .shared = 1,
                                            .direct_bytes = 65536,
                                            .latency_s = 5e-5,
                                            .n_order = 3,
                                            .n_buckets = 2,
                                            .order = { 2, 0, 1 },
                                            .bucket = { 1, 2 },
                                            .reason = "shared memory beats messages 7x" };
static int sample_group[] = { 0, 0, 1 };

/* Name the second node, and the network, by addresses of IPv6. */
static void name_by_six(struct order *o)
{
    static char uri[] = "1234567.0;tcp6://[fd00:7::7]:41231";

    strcpy(o->node[1].host, "fd00:7::8");
    strcpy(o->node[1].address, "fd00:7::8");
    strcpy(o->network, "fd00:7::/64");
    strcpy(o->relay.host, "fd00:7::8");
    o->relay.uri = uri;
}

/* six: to nodes that are named by addresses of IPv6. */
static char *order_of(enum order_type type, bool six)
{
    struct order_node node[] = {
        { 0, "login1", "10.1.0.7", 1 },
        { 3, "c07", "10.1.0.8", 2 },
    };
    struct order o = {
        .number = 7,
        .type = type,
        .group = sample_group,
        .options = { .period = 32,
                     .moving_rate = 0.45,
                     .outer_rate = 0.75,
                     .outer_momentum = 0.875,
                     .overlap = 3,
                     .wire = SYNC_WIRE_BFLOAT16 },
        .choice = &sample_choice,
        .checks = { { { 4, 1, 1e8 }, { -1, 0, 0 } }, 2 },
        .generation = 2,
        .wait_ns = 30 * CLOCK_S,
        .device = (int[]){ 0, 2 },
        .n_device = 2,
        .node = node,
        .n_nodes = 2,
        .network = "10.1.0.0/24",
        .mpi_secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .n_ranks = 3,
        .rank = sample_ranks,
        .n_local = 2,
        .mode = "sync",
        .mode_named = true,
        .algorithm = "allreduce",
        .seed = UINT64_MAX - 1,
        .bucket_bytes = 4 << 20,
        .checkpoint_every = 500,
        .checkpoint_keep = 3,
        .emulated = true,
        .plan = &sample_board_plan,
        .n_plan = 3,
        .relay = { "c07", "1234567", 1, 2, S("1234567.0;tcp://10.1.0.7:41231"),
                   S("c[2:7-8]@0(2)") },
        .log_rank = 2,
        .log_offset = -65536,
        .ladder = STOP_KILL,
        .grace_ns = 10 * CLOCK_S,
    };

    if (type == ORDER_NONE)
        o.number = 0;
    if (six)
        name_by_six(&o);
    return order_text(&o);
}

static char *sample_order(enum order_type type)
{
    return order_of(type, false);
}

static char *sample_prepare_six(void)
{
    return order_of(ORDER_PREPARE, true);
}

static char *sample_relay_six(void)
{
    return order_of(ORDER_RELAY, true);
}

static char *sample_prepare(void)
{
    return sample_order(ORDER_PREPARE);
}

static char *sample_stop(void)
{
    return sample_order(ORDER_STOP);
}

static char *sample_settle(void)
{
    return sample_order(ORDER_SETTLE);
}

static char *sample_relay(void)
{
    return sample_order(ORDER_RELAY);
}

static struct event sample_events[] = {
    { .type = EVENT_RANK_EXIT,
      .age_ns = 5,
      .generation = 1,
      .rank = 2,
      .pid = 99,
      .code = -1,
      .signal = 9,
      .oom = true,
      .peak_bytes = 1 << 20,
      .limit_bytes = 1 << 21,
      .lingers = true,
      .first = true,
      .alone = true,
      .text = S(""),
      .last_lines = S("a\nb \xff \xc3\xa9\n") },
    { .type = EVENT_NOTE, .rank = -1, .text = S("x \"y\""), .last_lines = S("") },
    { .type = EVENT_REFUSED, .rank = -1, .refused = 3, .text = S("10.1.0.9"), .last_lines = S("") },
    { .type = EVENT_UNSETTLED, .rank = -1, .text = S("why"), .last_lines = S("") },
    { .type = EVENT_COMMITTED,
      .step = 4096,
      .program = { 1, 2, 3, 4, 5, 6 },
      .text = S(""),
      .last_lines = S("") },
    { .type = EVENT_RELAY,
      .rank = -1,
      .relay = { "c07", "prterun-login1-99@1", 1, 3, S("prte@0.0;tcp4://10.1.0.7:4:24"), S("") } },
    { .type = EVENT_LOGS, .rank = 1, .log_end = 15, .order = 6 },
};

static struct progress sample_workers[] = {
    { .rank = 0,
      .pid = 5,
      .phase = 2,
      .steps_done = 11,
      .plan_since = -1,
      .loss = NAN,
      .sum = { 1, 2, 3, 4, 10 },
      .recent_steps = 3,
      .recent = { 0, 1, 2, 3, 6 },
      .queued_s = 0.001,
      .core_loss = { { 0.125, 1, NAN, 0, 0.5 }, 71.5 },
      .gpu = { .reading = 3,
               .id = "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0",
               .busy = 0.75,
               .memory_used_bytes = 1 << 30,
               .memory_bytes = INT64_C(80) << 30,
               .clock_mhz = 1005,
               .clock_most_mhz = 1410,
               .slowed = GPU_SLOWED_HEAT,
               .watts = 250.5,
               .watts_most = 400,
               .celsius = 86,
               .ecc_corrected = 3,
               .ecc_uncorrected = -1,
               .xid = 79,
               .xids = 1,
               .others = 1,
               .other = "process 4711 (python3)",
               .pcie_gen = 3,
               .pcie_gen_most = 4,
               .pcie_width = 8,
               .pcie_width_most = 16,
               .pci = "0000:17:00.0",
               .numa = 1,
               .nvlinks = 12,
               .nic = "mlx5_0 PIX" },
      .gpus = { { .reading = 3, .id = "GPU-0" }, { .reading = 3, .id = "GPU-1" } },
      .n_gpus = 2,
      .link = { 0.5, 1e6, "10.1.0.7" },
      .memory_bytes = 1 << 30,
      .memory_told = true,
      .at_once = 47,
      .takes_pieces = true,
      .stops = true,
      .trained = true,
      .ended = true,
      .models = { 9, 2, 1e-6, MODEL_CHECK_DIFFER, 3, -1, 256, 128 },
      .loss_step = 7,
      .own_times = true,
      .metrics = { .plan = 2,
                   .since = 5,
                   .steps = 6,
                   .points = 6,
                   .count = 32,
                   .work = 4096.5,
                   .own = { 0.01, 0.02, 0.03, 0.04 },
                   .compute = { 0.01, 0.01, 0.025, 0.025 },
                   .exposed = { 0, 0.5, 0.75, STEP_FIGURES_MAX_S },
                   .total = { 0.1, 0.125, 0.25, 1.5 } },
      .metric = { { "test_accuracy", 0.98 } } },
    { .rank = 1, .loss = 0.25, .page_age_ns = -1, .queued_s = NAN },
};

static char *sample_report(void)
{
    struct output output[] = { { 1, 17, S("\033[31mred\033[0m\n\xff\n") } };
    struct log_chunk piece[] = { { 0, 5, 65536, S("x\n\xfe\n") }, { 1, 6, 0, S("") } };
    struct report r = { 1, 9, sample_events, 7, sample_workers, 2, output, 1, piece, 2 };

    return report_text(&r);
}

static const struct {
    char *(*sample)(void);
    again_fn again;
} kinds[] = {
    { sample_agent_config, agent_config_again },
    { sample_hello, hello_again },
    { sample_prepare, order_again },
    { sample_stop, order_again },
    { sample_report, report_again },
    { sample_relay, order_again },
    { sample_settle, order_again },
    { sample_invitation, invitation_again },
    { sample_join, join_again },
    { sample_prepare_six, order_again },
    { sample_relay_six, order_again },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

START_TEST(round_trip)
{
    cleanup_free char *text = kinds[_i].sample(), *again = NULL;
    struct eddis_error err = { 0 };

    ck_assert_ptr_nonnull(text);
    again = kinds[_i].again(text, strlen(text), &err);
    ck_assert_msg(again, "%s", err.text);
    ck_assert_str_eq(again, text);
}
END_TEST

START_TEST(truncated)
{
    cleanup_free char *text = kinds[_i].sample();

    for (size_t n = 0; n < strlen(text); n++) {
        struct eddis_error err = { 0 };

        ck_assert_ptr_null(kinds[_i].again(text, n, &err));
        ck_assert_int_eq(err.code, -EINVAL);
        ck_assert_int_ne(err.text[0], '\0');
    }
}
END_TEST

/* What is accepted after any damage must be a message that is written and read back the same. */
START_TEST(mutated)
{
    static const char spice[] = "{}[]\",:-.0123456789e\\\xff\x00nulltrue";
    cleanup_free char *text = kinds[_i].sample();
    size_t n = strlen(text);
    uint64_t seed = (uint64_t)_i;
    cleanup_free char *bad = malloc(n);

    for (int round = 0; round < 3000; round++) {
        cleanup_free char *once = NULL, *twice = NULL;

        memcpy(bad, text, n);
        for (uint64_t k = random_below(&seed, 3) + 1; k > 0; k--)
            bad[random_below(&seed, n)] = spice[random_below(&seed, sizeof spice - 1)];
        once = kinds[_i].again(bad, n, NULL);
        if (once)
            twice = kinds[_i].again(once, strlen(once), NULL);
        ck_assert_pstr_eq(once, twice);
    }
}
END_TEST

/* Rows: what is changed in a good text, all of which must be refused with this word. */
static const struct {
    int kind;
    const char *from, *to, *word;
} refused_rows[] = {
    { 0, "\"agent\":3", "\"agent\":-1", "agent" },
    { 0, "\"agent\":3", "\"agent\":3,\"x\":1", "members" },
    { 0, "\"agent\":3", "\"agent\":3,\"agent\":3", "duplicate" },
    { 0, "\"python3\"", "\"\"", "command" },
    { 0, "\"A=1\"", "\"=1\"", "env" },
    { 0, "\"A=1\"", "\"A\\u00001\"", "NUL" },
    { 0, "https://", "ftp://", "url" },
    { 0, "https://", "http://", "url" },
    { 0, "sha256//", "", "pin" },
    { 0, "0123abcd", "", "token" },
    { 0, "\"btl_base_verbose\",", "", "mpi_mca" },
    { 0, "\"/tmp/w", "\"tmp/w", "workdir" },
    { 0, "\"rate\":1.0", "\"rate\":0.0", "rate" },
    { 0, "\"bind\":true", "\"bind\":1", "bind" },
    { 1, "\"pid\":4711", "\"pid\":0", "pid" },
    { 1, "\"protocol\":14", "\"protocol\":6.5", "protocol" },
    { 1, "\"prefix\":16", "\"prefix\":129", "prefix" },
    { 2, "\"n_ranks\":2}", "\"n_ranks\":1}", "nodes" },
    { 2, "\"share\":\"", "\"share\":\"x", "share" },
    { 2, "\"mpi_secret\":\"", "\"mpi_secret\":\"0", "mpi_secret" },
    { 2, "\"mpi_secret\":\"0", "\"mpi_secret\":\"x", "mpi_secret" },
    { 2, "\"10.1.0.0/24\"", "\"10.1.0.0/24 -x\"", "network" },
    { 2, "\"10.1.0.8\"", "\"`ls`\"", "address" },
    { 2, "\"c07\"", "\"-x c07\"", "host" },
    { 5, "\"c07\"", "\"-oProxyCommand=ls\"", "host" },
    { 5, "tcp://", "tcp://$(ls)", "uri" },
    { 5, "1234567.0;tcp://", "file:/tmp/", "uri" }, /* orted would read that */
    { 5, "(2)", "(2) --mca", "nodes" },
    { 5, "\"daemon\":1", "\"daemon\":2", "daemon" },
    { 4, "\"queued_s\":0.001", "\"queued_s\":-0.001", "queued_s" },
    { 4, "\"queued_s\":0.001", "\"queued_s\":1e308", "queued_s" },
    { 4, "\"stolen\":0.125", "\"stolen\":1.5", "stolen" },
    { 4, "\"throttled\":1.0", "\"throttled\":-1", "throttled" },
    { 4, "\"offset\":65536", "\"offset\":-1", "offset" },
    { 4, "\"order\":5", "\"order\":-5", "order" },
    { 4, "\"prterun-login1-99@1\"", "\"\"", "space" },
    { 2, "[0,94,94]", "[0,94,95]", "batch" },
    { 2, "[0,94,94]", "[1,93,94]", "batch" },
    { 2, "[0,94,94]", "[94,94]", "plan" },
    { 2, "[0,0,47]", "[0,47]", "does not have one item for each" },
    { 2, "[0,0,47]", "[0,0,-1]", "\"piece\" of rank 2" },
    { 2, "[0,94,94]", "[0,-94,94]", "batch" },
    { 2, "\"0-1,4\"", "\"0;rm\"", "cpus" },
    { 2, "\"emulated:0\"", "\"a b\"", "device_id" },
    { 2, "\"local_rank\":1", "\"local_rank\":0", "order" },
    { 2, "\"n_ranks\":3", "\"n_ranks\":70000", "n_ranks" },
    { 2, "\"number\":7", "\"number\":0", "number" },
    { 2, "\"sync\"", "\"../sync\"", "mode" },
    { 2, "\"group\":[0,0,1]", "\"group\":[0,0,3]", "group" },
    { 2, "\"group\":[0,0,1]", "\"group\":[0,1,1,1]", "group" },
    { 2, "\"open_ns\":0", "\"open_ns\":-1", "open_ns" },
    { 2, "\"period\":32", "\"period\":-1", "period" },
    { 2, "\"moving_rate\":0.45", "\"moving_rate\":1.5", "moving_rate" },
    { 2, "\"outer_rate\":0.75", "\"outer_rate\":2.5", "outer_rate" },
    { 2, "\"outer_momentum\":0.875", "\"outer_momentum\":1", "outer_momentum" },
    { 2, "\"overlap\":3", "\"overlap\":-1", "overlap" },
    { 2, "\"order\":[2,0,1]", "\"order\":[2,0,2]", "order" },
    { 2, "\"order\":[2,0,1]", "\"order\":[2,0,-1]", "order" },
    { 2, "\"shared\":true", "\"shared\":true,\"x\":1", "unknown" },
    { 6, "\"version\":2", "\"version\":0", "version" },
    { 6, "\"group\":[0,0,1]", "\"group\":[0,1]", "group" },
    { 6, "\"sync\"", "\"../sync\"", "mode" },
    { 6, "\"period\":32", "\"period\":-1", "period" },
    { 6, "\"wire\":\"bfloat16\"", "\"wire\":\"float8\"", "wire" },
    { 3, "\"kill\"", "\"rm -rf\"", "ladder" },
    { 3, "\"stop\"", "\"start\"", "members" },
    { 4, "\"code\":-1", "\"code\":256", "code" },
    { 4, "\"step\":4096", "\"step\":-1", "step" },
    { 4, "\"gradient_bytes\":1,", "\"gradient_bytes\":-1,", "gradient_bytes" },
    { 4, "\"step\":4096", "\"step\":-2", "step" },
    { 4, "\"sequence\":9", "\"sequence\":0", "sequence" },
    { 4, "\"rank_exit\"", "\"rank_fell\"", "type" },
    { 4, "\"loss\":0.25", "\"loss\":\"a\"", "loss" },
    { 4, "\"figures\":{", "\"figures\":{\"x\":1,", "members" },
    { 4, "\"figures\":{", "\"figures\":[],\"x\":{", "figures" },
    { 4, "\"plan\":2", "\"plan\":0", "plan" },
    { 4, "\"since\":5", "\"since\":-1", "since" },
    { 4, "\"steps\":6", "\"steps\":2", "steps" },
    { 4, "\"count\":32", "\"count\":0", "count" },
    { 4, "\"work\":4096.5", "\"work\":0", "work" },
    { 4, "\"work\":4096.5", "\"work\":null", "work" },
    { 4, "\"own_low_s\":0.01", "\"own_low_s\":-0.01", "own_low_s" },
    { 4, "\"own_low_s\":0.01", "\"own_low_s\":0.021", "order" },
    { 4, "\"compute_median_s\":0.01", "\"compute_median_s\":0.026", "order" },
    { 4, "\"exposed_max_s\":20000000000.0", "\"exposed_max_s\":20000000001.0", "exposed_max_s" },
    { 4, "\"exposed_max_s\":20000000000.0", "\"exposed_max_s\":0.5", "order" },
};

START_TEST(refused)
{
    cleanup_free char *text = kinds[refused_rows[_i].kind].sample();
    const char *at = strstr(text, refused_rows[_i].from);
    cleanup_free char *bad = malloc(strlen(text) + 100);
    struct eddis_error err = { 0 };

    ck_assert_msg(at, "no %s in %s", refused_rows[_i].from, text);
    sprintf(bad, "%.*s%s%s", (int)(at - text), text, refused_rows[_i].to,
            at + strlen(refused_rows[_i].from));
    ck_assert_ptr_null(kinds[refused_rows[_i].kind].again(bad, strlen(bad), &err));
    ck_assert_int_eq(err.code, -EINVAL);
    ck_assert_msg(strstr(err.text, refused_rows[_i].word), "'%s'", err.text);
}
END_TEST

static const struct {
    const char *text;
    size_t n;
} nonsense_rows[] = {
    { "", 0 },       { "null", 4 },      { "[]", 2 },    { "{}", 2 },
    { "\0\0\0", 3 }, { "\xff\xfe{", 3 }, { "1e999", 5 }, { "{\"type\":\"none\"}", 15 },
    { "{} {}", 5 },
};

START_TEST(nonsense)
{
    for (int k = 0; k < KINDS; k++)
        ck_assert_ptr_null(kinds[k].again(nonsense_rows[_i].text, nonsense_rows[_i].n, NULL));
}
END_TEST

START_TEST(every_order)
{
    cleanup_free char *text = sample_order((enum order_type)_i);
    struct order *o;
    struct eddis_error err = { 0 };

    ck_assert_msg(order_parse(text, strlen(text), &o, &err) == 0, "%s", err.text);
    ck_assert_int_eq(o->type, _i);
    ck_assert_int_eq(o->generation, 2);
    ck_assert_int_eq(o->plan != NULL,
                     _i == ORDER_PREPARE || _i == ORDER_SETTLE || _i == ORDER_REBALANCE);
    if (_i == ORDER_PREPARE)
        ck_assert_uint_eq(o->seed, UINT64_MAX - 1);
    order_free(o);
}
END_TEST

START_TEST(bytes_are_kept)
{
    cleanup_free char *text = sample_agent_config();
    struct agent_config *b;

    ck_assert_int_eq(agent_config_parse(text, strlen(text), &b, NULL), 0);
    ck_assert_str_eq(b->command[2], "\xff\xfe not UTF-8");
    ck_assert_str_eq(b->workdir, "/tmp/w\xc3\xa9");
    ck_assert_str_eq(b->log_dir, "/l\xe9og");
    ck_assert_ptr_null(b->checkpoint_dir);
    ck_assert_ptr_null(b->mpi_args[0]);
    ck_assert_str_eq(b->mpi_mca[1], "30");
    agent_config_free(b);
}
END_TEST

START_TEST(lines_become_utf8)
{
    cleanup_free char *text = sample_report();
    struct report *r;

    ck_assert_int_eq(report_parse(text, strlen(text), &r, NULL), 0);
    ck_assert_str_eq(r->event[0].last_lines, "a\nb ? \xc3\xa9\n");
    ck_assert(isnan(r->worker[0].loss));
    ck_assert_str_eq(r->worker[0].metric[0].name, "test_accuracy");
    report_free(r);
}
END_TEST

static struct step_spread longest(void)
{
    double s = STEP_FIGURES_MAX_S / 3; /* as many digits as a number has */

    return (struct step_spread){ s, s, s, s };
}

/* A worker whose every number is as long as it may be. */
static struct progress longest_progress(int rank)
{
    const struct board_times t = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX };
    struct progress p = { .rank = rank,
                          .pid = INT32_MAX,
                          .steps_done = INT64_MAX,
                          .steps_total = INT64_MAX,
                          .steps_in_epoch = INT64_MAX,
                          .samples_in_epoch = INT64_MAX,
                          .epochs = INT64_MAX,
                          .steps_here = INT64_MAX,
                          .samples_done = INT64_MAX,
                          .restored_samples = INT64_MAX,
                          .restored_at = INT64_MAX,
                          .plan_version = INT64_MAX,
                          .plan_since = INT64_MAX,
                          .bytes_sent = INT64_MAX,
                          .overrun_ns = INT64_MAX,
                          .model_bytes = INT64_MAX,
                          .staleness = INT32_MAX,
                          .exchanges = INT64_MAX,
                          .exchange_ns = INT64_MAX,
                          .page_age_ns = INT64_MAX,
                          .phase_age_ns = INT64_MAX,
                          .loss = -1e-300 / 3,
                          .sum = t,
                          .step_plan = INT64_MAX,
                          .steps_before = INT64_MAX,
                          .samples_before = INT64_MAX,
                          .sum_before = t,
                          .recent_steps = INT64_MAX,
                          .recent_samples = INT64_MAX,
                          .recent = t,
                          .queued_s = 1e-300 / 3,
                          .memory_bytes = INT64_MAX,
                          .metrics = { INT64_MAX, INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2,
                                       INT64_MAX, 1e300 / 3, longest(), longest(), longest(),
                                       longest(), longest() } };

    for (int i = 0; i < BOARD_METRICS; i++) {
        memset(p.metric[i].name, 'a' + i, BOARD_METRIC_NAME - 1);
        p.metric[i].value = -1e-300 / 3;
    }
    return p;
}

/* Of a node's all workers, or it would be refused whatever they do. */
START_TEST(longest_report)
{
    struct progress *worker = calloc(BOARD_MAX_LOCAL, sizeof *worker);
    struct report r = { .sequence = INT64_MAX, .worker = worker, .n_workers = BOARD_MAX_LOCAL };
    struct report *got = NULL;
    struct eddis_error err = { 0 };
    cleanup_free char *text = NULL;

    for (int i = 0; i < BOARD_MAX_LOCAL; i++)
        worker[i] = longest_progress(BOARD_MAX_RANKS - 1 - i);
    text = report_text(&r);
    ck_assert_uint_lt(strlen(text), HTTP_MAX_BODY);
    ck_assert_msg(report_parse(text, strlen(text), &got, &err) == 0, "%s", err.text);
    ck_assert_int_eq(got->worker[BOARD_MAX_LOCAL - 1].metrics.steps, INT64_MAX / 2);
    report_free(got);
    free(worker);
}
END_TEST

/* Copies of what must stay secret, in the messages that have any: jansson's are overwritten, too.
 */
static const char *const secrets[] = {
    "0123abcd", /* of the agent configuration */
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", /* of an order */
    "00000002ff",                                                       /* of an invitation */
};

START_TEST(secrets_are_wiped)
{
    int held = 0;

    for (int k = 0; k < KINDS; k++) {
        cleanup_free char *text = NULL, *again = NULL, *bad = NULL;

        wiped_begin(secrets[_i]);
        text = kinds[k].sample();
        ck_assert_int_eq(wiped_end(), 0);
        held += strstr(text, secrets[_i]) != NULL;
        wiped_begin(secrets[_i]);
        again = kinds[k].again(text, strlen(text), NULL);
        ck_assert_int_eq(wiped_end(), 0);
        ck_assert_str_eq(again, text);
        ck_assert_int_ge(asprintf(&bad, "{\"unknown\":0,%s", text + 1), 0);
        wiped_begin(secrets[_i]);
        ck_assert_ptr_null(kinds[k].again(bad, strlen(bad), NULL));
        ck_assert_int_eq(wiped_end(), 0);
    }
    ck_assert_int_ge(held, 1);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, secrets_are_wiped, 0, sizeof secrets / sizeof *secrets);
    tcase_add_test(tc, longest_report);
    tcase_add_loop_test(tc, round_trip, 0, KINDS);
    tcase_add_loop_test(tc, truncated, 0, KINDS);
    tcase_add_loop_test(tc, mutated, 0, KINDS);
    tcase_add_loop_test(tc, refused, 0, sizeof refused_rows / sizeof *refused_rows);
    tcase_add_loop_test(tc, nonsense, 0, sizeof nonsense_rows / sizeof *nonsense_rows);
    tcase_add_loop_test(tc, every_order, ORDER_NONE, ORDER_BYE + 1);
    tcase_add_test(tc, bytes_are_kept);
    tcase_add_test(tc, lines_become_utf8);
}

SUITE_MAIN("protocol", add_tests)
