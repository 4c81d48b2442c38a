/* SPDX-License-Identifier: Apache-2.0 */
/* log_answer.c - reads a part of a rank's log, and converts it to and from JSON */
#include "log_answer.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"
#include "lib/base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static const struct field answer_fields[] = {
    FIELD(struct log_answer, rank, INT, 0, INT_MAX),
    FIELD(struct log_answer, offset, INT64, 0, INT64_MAX),
    FIELD(struct log_answer, end, INT64, 0, INT64_MAX),
    FIELD(struct log_answer, text, BYTES, 0, 0),
};
static const struct fields answer_table = FIELDS(struct log_answer, answer_fields);

char *log_answer_text(const struct log_answer *a)
{
    return fields_text(&answer_table, a);
}

int log_answer_parse(const char *text, size_t n, struct log_answer *ret, struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct log_answer a = { .rank = 0 };
    int rc = json_parse(text, n, "log", &o, err);

    if (rc < 0)
        return rc;
    rc = fields_fill(&answer_table, o, &a, err);
    if (rc < 0)
        fields_free(&answer_table, &a);
    else
        *ret = a;
    return rc;
}

int log_answer_read(const char *path, struct log_answer *a, struct eddis_error *err)
{
    off_t size;
    cleanup_fd int fd = file_open_regular(path, SIZE_MAX, &size, err);
    cleanup_free char *text = NULL;
    int64_t from = a->offset;
    ssize_t n;

    if (fd < 0)
        return fd;
    from = from < 0 ? (size + from > 0 ? size + from : 0) : from;
    from = from > size ? size : from;
    text = malloc(LOG_ANSWER_MOST + 1);
    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory for a log");
    n = pread(fd, text, LOG_ANSWER_MOST, from);
    if (n < 0)
        return eddis_fail_errno(err, -errno, "cannot read '%s'", path);
    for (ssize_t i = 0; i < n; i++)
        text[i] = text[i] ? text[i] : '?';
    text[n] = '\0';
    a->offset = from;
    a->end = from + n;
    a->text = text;
    text = NULL;
    return 0;
}
