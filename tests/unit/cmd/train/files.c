/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - writes data files, plain and gzipped, for the tests of readers */
#include "files.h"

#include "suite.h"

#include <string.h>
#include <unistd.h>
#include <zlib.h>

char *write_file(const void *bytes, size_t n)
{
    char *path = strdup("/tmp/eddis-test-data-XXXXXX");
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    ck_assert_int_eq(close(fd), 0);
    return path;
}

void remove_file(char *path)
{
    (void)unlink(path);
    free(path);
}

char *gzipped(const void *bytes, size_t n, size_t *ret_n)
{
    z_stream z = { .next_in = (Bytef *)bytes, .avail_in = (uInt)n };
    size_t cap = n + n / 100 + 64;
    char *out = malloc(cap);

    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)cap;
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    *ret_n = cap - z.avail_out;
    ck_assert_int_eq(deflateEnd(&z), Z_OK);
    return out;
}

struct dataset *open_bytes(const void *bytes, size_t n, bool gzip, const struct dataset_options *o)
{
    struct dataset_options with = o ? *o : (struct dataset_options){ 0 };
    size_t n_packed = 0;
    char *packed = gzip ? gzipped(bytes, n, &n_packed) : NULL;
    char *path = write_file(gzip ? packed : bytes, gzip ? n_packed : n);
    struct dataset *d = NULL;
    struct eddis_error err = { 0 };

    with.path = path;
    ck_assert_msg(dataset_open(&with, &d, &err) == 0, "%s", err.text);
    remove_file(path);
    free(packed);
    return d;
}

struct dataset *open_text(const char *text, bool gzip, int64_t memory_bytes)
{
    struct dataset_options o = { .memory_bytes = memory_bytes };

    return open_bytes(text, strlen(text), gzip, &o);
}

void refuse_bytes(const void *bytes, size_t n, const struct dataset_options *o,
                  struct eddis_error *err)
{
    struct dataset_options with = o ? *o : (struct dataset_options){ 0 };
    char *path = write_file(bytes, n);
    struct dataset *d = NULL;

    with.path = path;
    ck_assert_int_lt(dataset_open(&with, &d, err), 0);
    ck_assert_ptr_null(d);
    ck_assert_int_gt(strlen(err->text), 0);
    ck_assert_ptr_null(strchr(err->text, '\n'));
    remove_file(path);
}
