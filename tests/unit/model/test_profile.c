/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile.c - tests of lib/model/profile.h */
#include "lib/model/profile.h"

#include "suite.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct node_profile p, q; /* what is written, and what is read */
static char *text;               /* of p, once it is written */
static struct eddis_error err;

static void set_up(void)
{
    text = NULL;
    p = (struct node_profile){
        .host = "node-1",
        .measured_s = 1795273035,
        .cached = true,
        .probe_version = 1,
        .eddis_version = "0.1.0",
        .mpi_version = "Open MPI 4.1.4",
        .kernel = "Linux 6.1 x86_64",
        .machine_id = "3d1219c7c4c5404aaa1f6d2a48adfda4",
        .cpu_model = "Größer \"quoted\" \\ 9000",
        .sockets = 2,
        .cores = 64,
        .threads = 128,
        .n_numa = 2,
        .memory_bytes = INT64_C(1) << 40,
        .cpu_quota = NAN,
        .load = 0,
        .n_devices = 3,
        .note = "nothing",
    };
    for (int i = 0; i < 3; i++) {
        struct device *d = &p.device[i];

        *d = (struct device){
            .kind = (enum device_kind)i,
            .index = i,
            .cpus = "0-15,32-47",
            .numa = i - 1,
            .memory_bytes = INT64_C(80) << 30,
            .fp32_flops = 6.02e13,
            .fp16_flops = i == 1 ? 9.1e14 : NAN,
            .memory_bytes_per_s = NAN,
            .to_device_bytes_per_s = 0,
            .from_device_bytes_per_s = 123456789.125,
            .driver_version = i == 1 ? 13000 : 0,
            .rate = i == 2 ? 0.25 : NAN,
            .fixed_s = i == 2 ? 0.002 : NAN,
            .sample_s = i == 2 ? 0.0001 : NAN,
        };
        snprintf(d->id, sizeof d->id, "device:%d", i);
        snprintf(d->name, sizeof d->name, "Device %d", i);
    }
}

static void tear_down(void)
{
    free(text);
}

static int read_back(void)
{
    text = profile_text(&p);
    ck_assert_ptr_nonnull(text);
    return profile_parse(text, strlen(text), "text", &q, &err);
}

START_TEST(round_trip)
{
    char *again;

    ck_assert_msg(read_back() == 0, "%s", err.text);
    ck_assert_ptr_null(strstr(text, "nan"));
    ck_assert_ptr_null(strstr(text, "cpu_quota"));
    again = profile_text(&q);
    ck_assert_str_eq(text, again);
    ck_assert(isnan(q.cpu_quota) && q.load == 0 && q.cached);
    ck_assert_str_eq(q.cpu_model, p.cpu_model);
    ck_assert_int_eq(q.n_devices, 3);
    ck_assert_int_eq(q.device[2].kind, DEVICE_EMULATED);
    ck_assert(q.device[2].rate == 0.25 && isnan(q.device[0].rate));
    ck_assert(q.device[0].from_device_bytes_per_s == 123456789.125);
    ck_assert_int_eq(q.device[1].memory_bytes, INT64_C(80) << 30);
    free(again);
}
END_TEST

/* Bytes that are no UTF-8 must not lose the profile. */
START_TEST(strange_note)
{
    strcpy(p.note, "/data/\xff\xfe");
    ck_assert_int_eq(read_back(), 0);
    ck_assert_str_eq(q.note, "/data/??");
}
END_TEST

/* Each row changes the good text in one place. */
static const struct {
    const char *from, *to, *words;
} rows[] = {
    { "\"host\": \"node-1\"", "\"host\": \"\"", "host" },
    { "\"host\": \"node-1\"", "\"host\": 7", "host" },
    { "\"host\": \"node-1\"", "\"hosts\": \"x\"", "host" },
    { "\"host\": \"node-1\"", "\"host\": \"a\\u0000b\"", "" },
    { "\"cores\": 64", "\"cores\": -1", "cores" },
    { "\"cores\": 64", "\"cores\": 6.5", "cores" },
    { "\"cores\": 64", "\"cores\": 99999999999", "cores" },
    { "\"cores\": 64", "\"cores\": 64, \"cores\": 64", "" },
    { "\"load\": 0.0", "\"load\": -1", "load" },
    { "\"load\": 0.0", "\"load\": \"much\"", "load" },
    { "\"load\": 0.0", "\"load\": 1e300", "load" },
    { "\"cached\": true", "\"cached\": 1", "cached" },
    { "\"kind\": \"cuda\"", "\"kind\": \"tpu\"", "kind" },
    { "\"kind\": \"cuda\"", "\"kind\": \"emulated\"", "emulated" },
    { "\"cpus\": \"0-15,32-47\"", "\"cpus\": \"0-3; rm\"", "cpus" },
    { "\"id\": \"device:1\"", "\"id\": \"device:0\"", "two devices" },
    { "\"id\": \"device:1\"", "\"id\": \"\"", "id" },
    { "\"rate\": 0.25", "\"rate\": 0", "emulated" },
    { "\"devices\": [", "\"devices\": [7,", "device 0" },
    { "\"devices\": [", "\"devices\": [[],", "device 0" },
};

START_TEST(refused)
{
    char *changed, *at;

    q.cores = 77;
    text = profile_text(&p);
    at = strstr(text, rows[_i].from);
    ck_assert_ptr_nonnull(at);
    changed = malloc(strlen(text) + 200);
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, rows[_i].to, at + strlen(rows[_i].from));
    ck_assert_int_eq(profile_parse(changed, strlen(changed), "node 3", &q, &err), -EINVAL);
    ck_assert_msg(strncmp(err.text, "node 3", 6) == 0 && strstr(err.text, rows[_i].words), "%s",
                  err.text);
    ck_assert_int_eq(q.cores, 77);
    free(changed);
}
END_TEST

/* No prefix and no text with a byte changed crashes or reads beyond its end. */
START_TEST(mangled)
{
    char *copy;
    size_t n;

    text = profile_text(&p);
    n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        copy = malloc(i ? i : 1);
        memcpy(copy, text, i);
        ck_assert_int_eq(profile_parse(copy, i, "x", &q, NULL), -EINVAL);
        free(copy);
    }
    for (size_t i = 0; i < n; i++) {
        char was = text[i];

        text[i] = (char)(was ^ 0x15);
        (void)profile_parse(text, n, "x", &q, NULL);
        text[i] = was;
    }
    ck_assert_int_eq(profile_parse("[]", 2, "x", &q, NULL), -EINVAL);
    ck_assert_int_eq(profile_parse("null", 4, "x", &q, NULL), -EINVAL);
}
END_TEST

START_TEST(too_many)
{
    char *many, *close;

    text = profile_text(&p);
    close = strstr(text, "]");
    many = calloc(1, strlen(text) + 70 * 4);
    memcpy(many, text, (size_t)(close - text));
    for (int i = 0; i < 70; i++)
        strcat(many, ",{}");
    strcat(many, close);
    ck_assert_int_eq(profile_parse(many, strlen(many), "x", &q, NULL), -EINVAL);
    free(many);
    ck_assert_str_eq(device_kind_name(DEVICE_CUDA), "cuda");
    ck_assert_str_eq(device_kind_name((enum device_kind)9), "unknown");
}
END_TEST

/* Text that drives a terminal comes from another machine. */
START_TEST(control)
{
    strcpy(p.device[0].name, "x\033[2Jy");
    ck_assert_int_eq(read_back(), 0);
    ck_assert_str_eq(q.device[0].name, "x?[2Jy");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, round_trip);
    tcase_add_test(tc, strange_note);
    tcase_add_loop_test(tc, refused, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, mangled);
    tcase_add_test(tc, too_many);
    tcase_add_test(tc, control);
}

SUITE_MAIN("profile", add_tests)
