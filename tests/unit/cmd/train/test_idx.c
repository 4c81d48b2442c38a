/* SPDX-License-Identifier: Apache-2.0 */
/* test_idx.c - IDX files good and bad, plain and gzipped, held in memory and read from the file. */
#include "cmd/train/data/dataset.h"
#include "files.h"
#include "lib/base/random.h"
#include "suite.h"

#include <string.h>

enum { N = 40, H = 5, W = 3, HEADER = 16 };

/* N images of H x W and their labels, all from a seed. */
static void make(uint8_t images[HEADER + N * H * W], uint8_t labels[8 + N])
{
    static const uint8_t image_header[HEADER] = { 0, 0, 8, 3, 0, 0, 0, N, 0, 0, 0, H, 0, 0, 0, W };
    static const uint8_t label_header[8] = { 0, 0, 8, 1, 0, 0, 0, N };
    uint64_t seed = 12;

    memcpy(images, image_header, sizeof image_header);
    memcpy(labels, label_header, sizeof label_header);
    for (int i = 0; i < N * H * W; i++)
        images[HEADER + i] = (uint8_t)random_below(&seed, 256);
    for (int i = 0; i < N; i++)
        labels[8 + i] = (uint8_t)(i % 7);
}

START_TEST(good_file)
{
    uint8_t images[HEADER + N * H * W], labels[8 + N];
    char *label_path, *packed;
    size_t n;
    struct dataset_options o = { .memory_bytes = _i & 1 ? 10 : 0 };
    struct dataset *d;
    const struct dataset_info *info;

    make(images, labels);
    packed = gzipped(labels, sizeof labels, &n);
    label_path = _i & 2 ? write_file(packed, n) : write_file(labels, sizeof labels);
    o.labels = label_path;
    d = open_bytes(images, sizeof images, _i & 2, &o);
    info = dataset_info(d);
    ck_assert(info->n_samples == N && info->n_features == H * W && info->n_classes == 7);
    ck_assert(info->height == H && info->width == W && info->channels == 1);
    ck_assert_int_eq(info->in_memory, !(_i & 1));
    for (int64_t i = N - 1; i >= 0; i--) {
        float x[H * W];
        int32_t label;

        ck_assert_int_eq(dataset_read(d, &i, 1, 1, x, &label, NULL), 0);
        ck_assert_int_eq(label, i % 7);
        for (int k = 0; k < H * W; k++)
            ck_assert(x[k] == images[HEADER + i * H * W + k]);
    }
    dataset_close(d);
    remove_file(label_path);
    free(packed);
}
END_TEST

/* One byte of the images' or the labels' header changed, or the file cut. */
static const struct {
    int in_labels, at, value; /* at < 0: cut to -at bytes; at 1000: a byte more */
    const char *sentence;
} bad_rows[] = {
    { 0, 0, 1, "is not an IDX file" },  { 0, 2, 0x0d, "type 0x0d" },
    { 0, 3, 1, "has 1 dimensions" },    { 0, 3, 5, "has 5 dimensions" },
    { 0, 7, N + 1, "header requires" }, { 0, 4, 0x7f, "header requires" },
    { 0, 8, 0xff, "not possible" },     { 0, 11, 0, "dimension 2 as 0" },
    { 0, -600, 0, "header requires" },  { 0, -10, 0, "ends at offset 10" },
    { 0, -2, 0, "ends at offset 2" },   { 0, 1000, 0, "header requires" },
    { 1, 3, 3, "has 3 dimensions" },    { 1, 7, N - 1, "header requires" },
    { 1, -30, 0, "header requires" },
};

/* A header that lies about the size is found out in a gzipped file as well, where the sentence may
 * differ: its size is known only when it has been read.
 */
static void refuse(const uint8_t *images, size_t n_images, const uint8_t *labels, size_t n_labels,
                   bool gzip, struct eddis_error *err)
{
    size_t n = 0;
    char *packed = gzip ? gzipped(images, n_images, &n) : NULL;
    char *label_path = write_file(labels, n_labels);
    struct dataset_options o = { .labels = label_path };

    refuse_bytes(gzip ? (const void *)packed : images, gzip ? n : n_images, &o, err);
    o.memory_bytes = 10;
    refuse_bytes(gzip ? (const void *)packed : images, gzip ? n : n_images, &o, err);
    remove_file(label_path);
    free(packed);
}

START_TEST(bad_file)
{
    uint8_t images[HEADER + N * H * W + 1] = { 0 }, labels[8 + N];
    size_t size[2] = { sizeof images - 1, sizeof labels };
    int which = bad_rows[_i].in_labels, at = bad_rows[_i].at;
    struct eddis_error err = { 0 };

    make(images, labels);
    if (at == 1000)
        size[which]++;
    else if (at < 0)
        size[which] = (size_t)-at;
    else
        (which ? labels : images)[at] = (uint8_t)bad_rows[_i].value;
    refuse(images, size[0], labels, size[1], true, &err);
    refuse(images, size[0], labels, size[1], false, &err);
    ck_assert_msg(strstr(err.text, bad_rows[_i].sentence) != NULL, "%s", err.text);
}
END_TEST

START_TEST(numbers_of_labels_and_images)
{
    uint8_t images[HEADER + N * H * W], labels[8 + N];
    struct eddis_error err = { 0 };

    make(images, labels);
    labels[7] = N - 1;
    refuse(images, sizeof images, labels, sizeof labels - 1, false, &err);
    ck_assert_ptr_nonnull(strstr(err.text, "has 39 labels for 40 images"));
}
END_TEST

/* A gzipped file's size is known only when it has been read: the offset is one in the file. */
START_TEST(gzipped_file_ends)
{
    uint8_t images[HEADER + N * H * W], labels[8 + N];
    struct dataset_options o = { 0 };
    struct eddis_error err = { 0 };
    char *packed, *label_path;
    size_t n;

    make(images, labels);
    label_path = write_file(labels, sizeof labels);
    o.labels = label_path;
    packed = gzipped(images, 100, &n);
    refuse_bytes(packed, n, &o, &err);
    ck_assert_msg(strstr(err.text, "ends at offset 100,") != NULL, "%s", err.text);
    remove_file(label_path);
    free(packed);
    packed = gzipped(labels, 30, &n);
    label_path = write_file(packed, n);
    o.labels = label_path;
    refuse_bytes(images, sizeof images, &o, &err);
    ck_assert_msg(strstr(err.text, "ends at offset 30,") != NULL, "%s", err.text);
    remove_file(label_path);
    free(packed);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, good_file, 0, 4);
    tcase_add_loop_test(tc, bad_file, 0, sizeof bad_rows / sizeof *bad_rows);
    tcase_add_test(tc, numbers_of_labels_and_images);
    tcase_add_test(tc, gzipped_file_ends);
}

SUITE_MAIN("idx", add_tests)
