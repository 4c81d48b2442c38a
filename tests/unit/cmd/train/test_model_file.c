/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_file.c - what is written is read, to the bit; what is damaged is refused */
#include "cmd/train/model/model_file.h"

#include "lib/base/file.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct model_spec specs[] = {
    { .name = "softmax", .height = 3, .width = 2, .channels = 1, .n_classes = 4 },
    { .name = "mlp", .height = 5, .width = 1, .channels = 1, .n_classes = 3 },
    { .name = "mlp",
      .height = 5,
      .width = 1,
      .channels = 1,
      .n_classes = 3,
      .n_widths = 3,
      .widths = { 7, 1, 6 } },
    { .name = "cnn", .height = 7, .width = 5, .channels = 3, .n_classes = 4 },
};
enum { N_SPECS = sizeof specs / sizeof *specs };

static const char *const names[] = { "A", "a \"b\", c", "\xc3\xa9t\xc3\xa9" };

/* The second and the last have factors, the second labels of text, too. */
static bool has_factors(const struct model_spec *s)
{
    return s == &specs[1] || s == &specs[3];
}

static struct model_input input_of(const struct model_spec *s)
{
    static float factor[7 * 5 * 3];

    for (int i = 0; i < 7 * 5 * 3; i++)
        factor[i] = 1.0F / (float)(3 + i);
    return (struct model_input){ 0.0625F, has_factors(s) ? factor : NULL,
                                 s == &specs[1] ? names : NULL };
}

/* The bytes of a model's file, to be freed; *ret_model: the model, to be freed too. */
static char *written(const struct model_spec *s, size_t *ret_n, struct model **ret_model)
{
    char *path = file_join(scratch, "model"), *data = NULL;
    struct model_input input = input_of(s);
    struct model *m = NULL;

    ck_assert_int_eq(model_new(s, &m, NULL), 0);
    model_init(m, 7);
    ck_assert_int_eq(model_file_write(path, s, m, &input, NULL), 0);
    ck_assert_int_eq(file_read(path, 1 << 20, &data, ret_n, NULL), 0);
    free(path);
    *ret_model = m;
    return data;
}

START_TEST(there_and_back)
{
    struct model *m = NULL;
    struct model_file f;
    struct eddis_error err = { 0 };
    size_t n;
    char *data = written(&specs[_i], &n, &m);

    ck_assert_msg(model_file_parse(data, n, "it", &f, &err) == 0, "%s", err.text);
    ck_assert_str_eq(f.spec.name, specs[_i].name);
    ck_assert_int_eq(!f.input.factor, !has_factors(&specs[_i]));
    ck_assert_int_eq(!f.input.class_names, _i != 1);
    if (f.input.factor)
        ck_assert_mem_eq(f.input.factor, input_of(&specs[_i]).factor,
                         (size_t)m->n_features * sizeof(float));
    for (int i = 0; f.input.class_names && i < 3; i++)
        ck_assert_str_eq(f.input.class_names[i], names[i]);
    ck_assert(f.input.scale == 0.0625F && f.spec.n_classes == specs[_i].n_classes);
    ck_assert(f.spec.height == specs[_i].height && f.spec.width == specs[_i].width &&
              f.spec.channels == specs[_i].channels);
    ck_assert_int_eq(f.model->n_values, m->n_values);
    ck_assert_int_eq(memcmp(f.model->values, m->values, (size_t)m->n_values * sizeof(float)), 0);
    model_file_fini(&f);
    model_free(m);
    free(data);
}
END_TEST

/* Cut anywhere it is refused, and nothing is left. */
START_TEST(cut)
{
    struct model *m = NULL;
    struct model_file f;
    size_t n;
    char *data = written(&specs[_i], &n, &m);

    for (size_t k = 0; k < n; k += k < 2000 ? 1 : 997) {
        char *part = malloc(k ? k : 1);

        memcpy(part, data, k);
        ck_assert_int_eq(model_file_parse(part, k, "it", &f, NULL), -EINVAL);
        ck_assert_ptr_null(f.model);
        free(part);
    }
    model_free(m);
    free(data);
}
END_TEST

static const struct {
    const char *then, *now, *sentence; /* of the header: replaced, as long */
    int spec;                          /* 0: specs[2] */
} damaged[] = {
    { "\"eddis-train\"", "\"eddis-brain\"", "its format is not" },
    { "\"model\":\"mlp\"", "\"model\":\"mlq\"", "no model 'mlq'" },
    { "\"widths\":\"7,1,6\"", "\"widths\":\"7,1,x\"", "\"widths\" is not a list" },
    { "\"widths\":\"7,1,6\"", "\"widths\":\"7,1,7\"", "cut short" },
    { "\"widths\":\"7,1,6\"", "\"widths\":\"999,9\"", "cut short" },
    { "\"shape\":\"5x1x1\"", "\"shape\":\"5x1,1\"", "\"shape\" is not a shape" },
    { "\"shape\":\"5x1x1\"", "\"shape\":\"0x1x1\"", "\"shape\" is not a shape" },
    { "\"classes\":\"3\"", "\"classes\":\"0\"", "\"classes\" is not a number" },
    { "\"classes\":\"3\"", "\"classes\":\"1\"", "fewer than 2 classes" },
    { "\"scale\":\"0.0625\"", "\"scale\":\"-.0625\"", "\"scale\" is not a number above 0" },
    { "\"dense2.bias\"", "\"dense9.bias\"", "dense2.bias" },
    { "\"dtype\":\"F", "\"dtype\":\"G", "is not of dtype" },
    { "\"shape\":[7]", "\"shape\":[8]", "does not have the shape" },
    { "\"data_offsets\":[0,", "\"data_offsets\":[4,", "does not lie within" },
    { "\"labels\":\"[\\\"A", "\"labels\":\"[\\\"z", "not a list of names in ascending order", 1 },
    { "\"labels\":\"[", "\"labels\":\"{", "labels", 1 },
    { "\"shape\":[5]", "\"shape\":[4]", "\"scale\" does not have the shape", 1 },
    { "\"__metadata__\"", "\"__metadato__\"", "__metadata__" },
};

START_TEST(refused)
{
    struct model *m = NULL;
    struct model_file f;
    struct eddis_error err = { 0 };
    size_t n;
    char *data = written(&specs[damaged[_i].spec ? damaged[_i].spec : 2], &n, &m), *at;

    at = memmem(data, n, damaged[_i].then, strlen(damaged[_i].then));
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(strlen(damaged[_i].then), strlen(damaged[_i].now));
    memcpy(at, damaged[_i].now, strlen(damaged[_i].now));
    ck_assert_int_eq(model_file_parse(data, n, "it", &f, &err), -EINVAL);
    ck_assert_msg(strstr(err.text, damaged[_i].sentence) && strstr(err.text, "'it'"), "%s",
                  err.text);
    model_free(m);
    free(data);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_loop_test(tc, there_and_back, 0, N_SPECS);
    tcase_add_loop_test(tc, cut, 0, N_SPECS);
    tcase_add_loop_test(tc, refused, 0, sizeof damaged / sizeof *damaged);
}

SUITE_MAIN("model_file", add_tests)
