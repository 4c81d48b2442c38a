/* SPDX-License-Identifier: Apache-2.0 */
/* rank_file.c - converts the rank file to JSON and back */
#include "rank_file.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"
#include "lib/base/file.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define N(table) (sizeof(table) / sizeof *(table))

static const struct field spec_fields[] = {
    FIELD(struct rank_spec, rank, INT, 0, BOARD_MAX_RANKS - 1),
    FIELD(struct rank_spec, cpus, TEXT, 0, 0),
    FIELD(struct rank_spec, env, LIST, 0, 0),
};
static const struct fields spec_table = FIELDS(struct rank_spec, spec_fields);

static const struct field file_fields[] = {
    FIELD(struct rank_file, generation, INT64, 0, INT32_MAX),
    FIELD(struct rank_file, agent_pid, INT, 1, INT32_MAX),
    FIELD(struct rank_file, sender, INT, -1, INT32_MAX),
    FIELD(struct rank_file, setup, LIST, 0, 0),
    FIELD(struct rank_file, command, LIST, 0, 0),
    FIELD(struct rank_file, workdir, BYTES, 0, 0),
    FIELD(struct rank_file, log_dir, BYTES, 0, 0),
    FIELD(struct rank_file, socket, BYTES, 0, 0),
    FIELD(struct rank_file, run_dir, BYTES, 0, 0),
    FIELD(struct rank_file, shm_dir, BYTES, 0, 0),
    FIELD(struct rank_file, step_pattern, OPTIONAL, 0, 0),
    FIELD(struct rank_file, step_samples, INT64, 0, INT32_MAX),
    FIELD(struct rank_file, log_max_bytes, INT64, 1, INT64_MAX),
    FIELD(struct rank_file, show_bytes_per_s, INT64, 1, INT32_MAX),
    FIELD(struct rank_file, env, LIST, 0, 0),
    FIELD(struct rank_file, user_env, LIST, 0, 0),
};
static const struct fields file_table = FIELDS(struct rank_file, file_fields);

/* The list of ranks, for writing; a rank reads only its own item. */
static const struct field ranks_row[] = {
    FIELD_OWNED("ranks", struct rank_file, rank, n, BOARD_MAX_LOCAL, spec_table),
};
static const struct fields ranks_table = FIELDS(struct rank_file, ranks_row);

/* Return a rank file as JSON; the caller frees it.  NULL: no memory. */
static char *file_text(const struct rank_file *f)
{
    cleanup_json json_t *o = json_object();

    if (!o || fields_write(file_fields, N(file_fields), f, o) < 0 ||
        fields_write(ranks_row, N(ranks_row), f, o) < 0)
        return NULL;
    return json_text(o, false);
}

int rank_file_write(const char *path, const struct rank_file *f, struct eddis_error *err)
{
    cleanup_free char *text = file_text(f);

    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory to write '%s'", path);
    return file_write_new(path, text, strlen(text), err);
}

/* Store only the row of this rank in f->rank, allocated, and set f->n to 1.  Return 0 or a negative
 * errno; -ENOENT: the file has no such rank. f owns the row also on failure.
 */
static int read_rows(struct rank_file *f, const json_t *o, int rank, struct eddis_error *err)
{
    json_t *list;
    int rc = json_want_array(o, "ranks", BOARD_MAX_LOCAL, &list, err);

    for (size_t i = 0; rc >= 0 && i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        int64_t number;

        rc = json_want_int(one, "rank", 0, BOARD_MAX_RANKS - 1, &number, err);
        if (rc < 0 || number != rank)
            continue;
        f->rank = calloc(1, sizeof *f->rank);
        if (!f->rank)
            return eddis_fail(err, -ENOMEM, "no memory for a rank");
        f->n = 1;
        return fields_read(spec_fields, N(spec_fields), one, f->rank, err);
    }
    return rc < 0 ? rc : eddis_fail(err, -ENOENT, "rank %d is not a rank of this node", rank);
}

int rank_file_read(const char *path, int rank, struct rank_file **ret, struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct rank_file *f;
    int rc = json_read_file(path, &o, err);

    if (rc < 0)
        return rc;
    f = calloc(1, sizeof *f);
    if (!f)
        return eddis_fail(err, -ENOMEM, "no memory for '%s'", path);
    rc = fields_read(file_fields, N(file_fields), o, f, err);
    if (rc >= 0)
        rc = fields_end(o, N(file_fields) + 1, err);
    if (rc >= 0)
        rc = read_rows(f, o, rank, err);
    if (rc >= 0 && !f->command[0])
        rc = eddis_fail(err, -EINVAL, "there is no command");
    if (rc < 0) {
        rank_file_free(f);
        return eddis_fail_prefix(err, rc, "%s", path);
    }
    *ret = f;
    return 0;
}

void rank_file_free(struct rank_file *f)
{
    if (!f)
        return;
    fields_free(&ranks_table, f);
    fields_free(&file_table, f);
    free(f);
}

size_t rank_message_size(const struct rank_message *m)
{
    return offsetof(struct rank_message, lines) + strlen(m->lines) + 1;
}
