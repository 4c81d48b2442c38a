/* SPDX-License-Identifier: Apache-2.0 */
/* idx.c - a dataset over two IDX files, MNIST's format
 *
 * A file is: 0, 0, type (8: unsigned bytes), number of dimensions; then each dimension as 4 bytes,
 * most significant first; then the elements, the last dimension fastest.  Images have 2 to 4
 * dimensions [samples, height, width, channels], labels one.
 */
#include "dataset_impl.h"
#include "input.h"
#include "lib/base/cleanup.h"

#include <assert.h>
#include <string.h>

enum { MAX_DIMS = 4, CHUNK = 1 << 20 }; /* CHUNK: bytes of one read */

/* An open IDX data set. */
struct idx {
    struct dataset base;
    char *path;
    uint8_t *labels; /* [n_samples] */
    uint8_t *images; /* [n_samples, n_features]; NULL: they are read from fd */
    int fd;          /* file that images are read from; -1: they are in memory */
    int64_t first;   /* offset of the first image in fd */
};

static const struct dataset_ops idx_ops;

/* Return the IDX data set whose first member is d. */
static struct idx *idx(struct dataset *d)
{
    assert(d->ops == &idx_ops);
    return (struct idx *)d;
}

/* The header of an IDX file. */
struct header {
    int n_dims;
    int64_t dims[MAX_DIMS];
    int64_t row; /* elements of one sample: the product of all dimensions but the first */
};

/* Return the size of the header in the file, in bytes. */
static int64_t header_bytes(const struct header *h)
{
    return 4 + 4 * h->n_dims;
}

/* Check the four bytes m at the file's beginning: they must be those of an IDX file of unsigned
 * bytes with min_dims to max_dims dimensions.  Return 0 or -EINVAL.
 */
static int check_magic(const uint8_t *m, const char *path, int min_dims, int max_dims,
                       struct eddis_error *err)
{
    if (m[0] || m[1])
        return eddis_fail(err, -EINVAL,
                          "'%s' is not an IDX file: it starts with %02x %02x, not 00 00", path,
                          m[0], m[1]);
    if (m[2] != 8)
        return eddis_fail(
            err, -EINVAL,
            "'%s' has IDX elements of type 0x%02x; only unsigned bytes (0x08) are supported", path,
            m[2]);
    if (m[3] < min_dims || m[3] > max_dims)
        return eddis_fail(err, -EINVAL, "'%s' has %d dimensions; %s have %d to %d", path, m[3],
                          max_dims == 1 ? "labels" : "images", min_dims, max_dims);
    return 0;
}

/* Read the next n bytes into ret; offset: their position, for the error.  Return 0; -EINVAL: the
 * file is shorter; or another negative error.
 */
static int read_exactly(struct input *in, const char *path, void *ret, int64_t n, int64_t offset,
                        struct eddis_error *err)
{
    int64_t got = input_read(in, ret, (size_t)n, err);

    if (got < 0)
        return (int)got;
    if (got < n)
        return eddis_fail(err, -EINVAL,
                          "'%s' ends at offset %lld, before the end that its header gives", path,
                          (long long)(offset + got));
    return 0;
}

/* Read and check the header of an IDX file: of labels if max_dims is 1, else of images.  Return 0;
 * -EINVAL: it is damaged or another format; or another negative error.
 */
static int read_header(struct input *in, const char *path, int max_dims, struct header *ret,
                       struct eddis_error *err)
{
    uint8_t b[4 + 4 * MAX_DIMS] = { 0 };
    int rc = read_exactly(in, path, b, 4, 0, err);

    if (rc == 0)
        rc = check_magic(b, path, max_dims == 1 ? 1 : 2, max_dims, err);
    if (rc == 0)
        rc = read_exactly(in, path, b + 4, 4 * b[3], 4, err);
    if (rc < 0)
        return rc;
    *ret = (struct header){ .n_dims = b[3], .row = 1 };
    for (int i = 0; i < b[3]; i++) {
        const uint8_t *p = b + 4 + 4 * i;
        int64_t dim = (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];

        ret->dims[i] = dim;
        ret->row *= i ? dim : 1;
        if (dim == 0 || ret->row > DATASET_MAX_FEATURES)
            return eddis_fail(err, -EINVAL,
                              "'%s' is damaged: at offset %d it gives dimension %d as %lld, which "
                              "is not possible",
                              path, 4 + 4 * i, i + 1, (long long)dim);
    }
    return 0;
}

/* Check that a plain file has the size that its header requires, before memory is allocated.
 * Return 0, also for a gzipped file; -EINVAL: it has another size.
 */
static int check_size(struct input *in, const char *path, const struct header *h,
                      struct eddis_error *err)
{
    int64_t want = header_bytes(h) + h->dims[0] * h->row;

    if (input_is_gzip(in) || input_file_bytes(in) == want)
        return 0;
    return eddis_fail(err, -EINVAL, "'%s' has %lld bytes, but its header requires %lld", path,
                      (long long)input_file_bytes(in), (long long)want);
}

/* Check that `in`, which was read up to `offset`, ends there, as its header says.  Return 0 or a
 * negative error.
 */
static int check_end(struct input *in, const char *path, int64_t offset, struct eddis_error *err)
{
    char more;
    int64_t got = input_read(in, &more, 1, err);

    if (got <= 0)
        return (int)got;
    return eddis_fail(err, -EINVAL,
                      "'%s' continues after offset %lld, where it ends according to its header",
                      path, (long long)offset);
}

/* Read the n bytes after the header into a new buffer *ret, which the caller frees.  The buffer
 * grows with the data, since a gzipped file's header may claim any size.  Return 0; -EINVAL: the
 * file is shorter; -ENOMEM; or another negative error.
 */
static int read_growing(struct input *in, const char *path, const struct header *h, int64_t n,
                        uint8_t **ret, struct eddis_error *err)
{
    cleanup_free uint8_t *buffer = NULL;
    int64_t cap = 0;

    for (int64_t done = 0; done < n;) {
        int64_t want = n - done < CHUNK ? n - done : CHUNK;
        int rc;

        if (done + want > cap) {
            uint8_t *grown;

            cap = 2 * cap > done + want ? 2 * cap : done + want;
            cap = cap > n ? n : cap;
            grown = realloc(buffer, (size_t)cap);
            if (!grown)
                return eddis_fail(err, -ENOMEM, "out of memory");
            buffer = grown;
        }
        rc = read_exactly(in, path, buffer + done, want, header_bytes(h) + done, err);
        if (rc < 0)
            return rc;
        done += want;
    }
    *ret = cleanup_keep(buffer);
    return 0;
}

/* Read the file of labels, one for each image, into x->labels, and set the number of classes.
 * Return 0; -EINVAL: it is malformed, or has another number of labels; or another negative error.
 */
static int read_labels(struct idx *x, const char *path, struct eddis_error *err)
{
    struct input *in = NULL;
    struct header h;
    int rc = input_open(path, &in, err);

    if (rc == 0)
        rc = read_header(in, path, 1, &h, err);
    if (rc == 0)
        rc = check_size(in, path, &h, err);
    if (rc == 0 && h.dims[0] != x->base.info.n_samples)
        rc = eddis_fail(err, -EINVAL, "'%s' has %lld labels for %lld images", path,
                        (long long)h.dims[0], (long long)x->base.info.n_samples);
    if (rc == 0)
        rc = read_growing(in, path, &h, h.dims[0], &x->labels, err);
    if (rc == 0)
        rc = check_end(in, path, header_bytes(&h) + h.dims[0], err);
    input_close(in);
    for (int64_t i = 0; rc == 0 && i < x->base.info.n_samples; i++)
        if (x->labels[i] + 1 > x->base.info.n_classes)
            x->base.info.n_classes = x->labels[i] + 1;
    return rc;
}

/* Open the images' file for reading rows from it (x->fd), since it does not fit into memory; a
 * gzipped file is first unpacked into an unnamed file in `folder`.  Return 0; -EINVAL: it has not
 * the size that its header requires; or another negative error.
 */
static int open_images(struct idx *x, const struct header *h, bool gzip, const char *folder,
                       struct eddis_error *err)
{
    int64_t want = header_bytes(h) + h->dims[0] * h->row;
    int rc = input_open_text(x->path, gzip, folder, &x->fd, err);

    if (rc < 0)
        return rc;
    x->first = header_bytes(h);
    if (lseek(x->fd, 0, SEEK_END) != want)
        return eddis_fail(err, -EINVAL,
                          "'%s' does not end at offset %lld, where it ends according to its header",
                          x->path, (long long)want);
    return 0;
}

/* Read the images' header and set the data set's properties; then read all images into memory, or
 * open their file if they need more than o->memory_bytes.  Return 0 or a negative error.
 */
static int read_images(struct idx *x, const struct dataset_options *o, struct eddis_error *err)
{
    struct dataset_info *info = &x->base.info;
    struct input *in = NULL;
    struct header h;
    int rc = input_open(o->path, &in, err);

    if (rc == 0)
        rc = read_header(in, o->path, MAX_DIMS, &h, err);
    if (rc == 0)
        rc = check_size(in, o->path, &h, err);
    if (rc < 0) {
        input_close(in);
        return rc;
    }
    *info = (struct dataset_info){ .n_samples = h.dims[0],
                                   .n_features = h.row,
                                   .max = 255,
                                   .in_memory = h.dims[0] * h.row <= o->memory_bytes };
    if (h.n_dims >= 3) {
        info->height = h.dims[1];
        info->width = h.dims[2];
        info->channels = h.n_dims == 4 ? h.dims[3] : 1;
    }
    if (!info->in_memory)
        rc = open_images(x, &h, input_is_gzip(in), o->temporary_folder, err);
    else
        rc = read_growing(in, o->path, &h, h.dims[0] * h.row, &x->images, err);
    if (rc == 0 && info->in_memory)
        rc = check_end(in, o->path, header_bytes(&h) + h.dims[0] * h.row, err);
    input_close(in);
    return rc;
}

int idx_open(const struct dataset_options *o, struct dataset **ret, struct eddis_error *err)
{
    struct idx *x = calloc(1, sizeof *x);
    int rc;

    if (!x)
        return eddis_fail(err, -ENOMEM, "out of memory");
    x->base.ops = &idx_ops;
    x->fd = -1;
    x->path = strdup(o->path);
    rc = x->path ? read_images(x, o, err) : eddis_fail(err, -ENOMEM, "out of memory");
    if (rc == 0)
        rc = read_labels(x, o->labels, err);
    if (rc < 0) {
        dataset_close(&x->base);
        return rc;
    }
    *ret = &x->base;
    return 0;
}

/* Read n samples into x and label from memory or from the images' file.  Return 0 or a negative
 * errno, after which x and label are undefined (the IDX format's dataset_ops.read).
 */
static int idx_read(struct dataset *d, const int64_t *index, int64_t n, float scale, float *x,
                    int32_t *label, struct eddis_error *err)
{
    struct idx *s = idx(d);
    int64_t width = d->info.n_features;
    cleanup_free uint8_t *row = s->images ? NULL : malloc((size_t)width);

    if (!s->images && !row)
        return eddis_fail(err, -ENOMEM, "out of memory");
    for (int64_t i = 0; i < n; i++) {
        int64_t at = index[i] * width;

        if (!s->images) {
            int rc = input_pread(s->fd, s->path, row, (size_t)width, s->first + at, err);

            if (rc < 0)
                return rc;
        }
        bytes_to_float(x + i * width, row ? row : s->images + at, width, scale);
        label[i] = s->labels[index[i]];
    }
    return 0;
}

/* Close the data set and free it, also if it is half-built.  The IDX format's dataset_ops.close. */
static void idx_close(struct dataset *d)
{
    struct idx *x = idx(d);

    if (x->fd >= 0)
        (void)close(x->fd);
    free(x->images);
    free(x->labels);
    free(x->path);
    free(x);
}

static const struct dataset_ops idx_ops = { .read = idx_read, .close = idx_close };
