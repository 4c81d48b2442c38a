/* SPDX-License-Identifier: Apache-2.0 */
/* log_answer.c - reads a part of a rank's log, and converts it to and from JSON */
#include "log_answer.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"
#include "log_files.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

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

int log_answer_read(const char *dir, struct log_answer *a, struct eddis_error *err)
{
    char *path[LOG_FILES];
    struct log_files f;
    cleanup_free char *text = malloc(LOG_ANSWER_MOST + 1);
    int64_t from;
    ssize_t n;
    int rc;

    if (!text || log_files_paths(dir, a->rank, path) < 0)
        return eddis_fail(err, -ENOMEM, "no memory for a log");
    rc = log_files_open(path, false, &f, err);
    log_files_free_paths(path);
    if (rc < 0)
        return rc;
    from = log_files_from(&f, a->offset);
    n = log_files_read(&f, from, text, LOG_ANSWER_MOST);
    log_files_close(&f);
    if (n < 0)
        return eddis_fail_errno(err, (int)n, "cannot read the log of rank %d in '%s'", a->rank,
                                dir);
    for (ssize_t i = 0; i < n; i++)
        text[i] = text[i] ? text[i] : '?';
    text[n] = '\0';
    a->offset = from;
    a->end = from + n;
    a->text = cleanup_keep(text);
    return 0;
}
