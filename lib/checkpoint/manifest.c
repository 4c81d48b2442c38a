/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.c - the list of a checkpoint's files, each with its size and checksum */
#include "manifest.h"

#include "lib/base/array.h"
#include "lib/base/crc32.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The checksum field of a file that manifest_is_sized lists without a checksum. */
#define NO_CRC "--------"

void manifest_fini(struct manifest *m)
{
    free(m->file);
    memset(m, 0, sizeof *m);
}

/* Check whether the first n bytes of text may name a file or a subfolder. */
static bool is_component(const char *text, size_t n)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    static const char *const others[] = { ".", "..", MANIFEST_NAME };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (n == strlen(others[i]) && memcmp(text, others[i], n) == 0)
            return false;
    return n > 0 && strspn(text, allowed) >= n;
}

bool manifest_is_name(const char *name)
{
    const char *part = name, *slash;
    int depth = 0;

    if (strlen(name) > MANIFEST_MAX_FILE)
        return false;
    for (; (slash = strchr(part, '/')); part = slash + 1)
        if (!is_component(part, (size_t)(slash - part)) || ++depth > MANIFEST_MAX_DEPTH)
            return false;
    return is_component(part, strlen(part));
}

bool manifest_is_sized(const char *name)
{
    return strchr(name, '/') != NULL;
}

int manifest_add(struct manifest *m, const char *name, int64_t bytes, uint32_t crc,
                 struct eddis_error *err)
{
    if (m->n == CHECKPOINT_MAX_FILES)
        return eddis_fail(err, -EINVAL, "a checkpoint cannot have more than %d files",
                          CHECKPOINT_MAX_FILES);
    if (!array_grow(&m->file, &m->room, m->n, sizeof *m->file))
        return eddis_fail(err, -ENOMEM, "no memory for a manifest");
    memset(&m->file[m->n], 0, sizeof *m->file);
    strncpy(m->file[m->n].name, name, MANIFEST_MAX_FILE);
    m->file[m->n].bytes = bytes;
    m->file[m->n].crc = crc;
    m->n++;
    return 0;
}

/* Compare two files by name, for qsort and bsearch. */
static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct manifest_file *)a)->name, ((const struct manifest_file *)b)->name);
}

int manifest_sort(struct manifest *m, struct eddis_error *err)
{
    if (m->n)
        qsort(m->file, m->n, sizeof *m->file, by_name);
    for (size_t i = 1; i < m->n; i++)
        if (strcmp(m->file[i - 1].name, m->file[i].name) == 0)
            return eddis_fail(err, -EEXIST, "file '%s' was put into the checkpoint twice",
                              m->file[i].name);
    return 0;
}

const struct manifest_file *manifest_find(const struct manifest *m, const char *name)
{
    struct manifest_file key = { 0 };

    if (!m->n || strlen(name) > MANIFEST_MAX_FILE)
        return NULL;
    strcpy(key.name, name);
    return bsearch(&key, m->file, m->n, sizeof key, by_name);
}

/* Append the lines of the files to b. */
static void add_list(struct strbuf *b, const struct manifest *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct manifest_file *f = &m->file[i];

        if (manifest_is_sized(f->name))
            strbuf_addf(b, "%s", NO_CRC);
        else
            strbuf_addf(b, "%08" PRIx32, f->crc);
        strbuf_addf(b, " %" PRId64 " %s\n", f->bytes, f->name);
    }
}

char *manifest_list_text(const struct manifest *m)
{
    struct strbuf b = { 0 };

    add_list(&b, m);
    return strbuf_steal(&b);
}

char *manifest_text(const struct manifest *m)
{
    struct strbuf b = { 0 };

    strbuf_addf(&b,
                "eddis checkpoint 1\nstep %" PRId64 "\nseed %" PRIu64 "\nsamples %" PRId64
                "\nbatch %" PRId64 "\nranks %d\ngeneration %d\nfiles %zu\n",
                m->meta.step, m->meta.seed, m->meta.samples, m->meta.batch, m->meta.n_ranks,
                m->meta.generation, m->n);
    add_list(&b, m);
    if (!b.failed)
        strbuf_addf(&b, "end %08" PRIx32 "\n", crc32_update(0, b.text, b.len));
    return strbuf_steal(&b);
}

/* ---- parsing: each take_ function moves c->p past what it expects, or sets c->failed ---- */

/* The rest of a text that is being parsed. */
struct cursor {
    const char *p, *end;
    bool failed;
};

/* Consume this word.  If the text continues differently, set c->failed. */
static void take_word(struct cursor *c, const char *word)
{
    size_t n = strlen(word);

    if (c->failed || (size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0) {
        c->failed = true;
        return;
    }
    c->p += n;
}

/* Consume a decimal number without sign or leading zeros, and return it.  If there is none, or it
 * is above max, set c->failed.
 */
static uint64_t take_number(struct cursor *c, uint64_t max)
{
    const char *start = c->p;
    uint64_t v = 0;

    while (!c->failed && c->p < c->end && *c->p >= '0' && *c->p <= '9') {
        uint64_t digit = (uint64_t)(*c->p++ - '0');

        if (__builtin_mul_overflow(v, UINT64_C(10), &v) || __builtin_add_overflow(v, digit, &v) ||
            v > max)
            c->failed = true;
    }
    if (c->p == start || (*start == '0' && c->p - start > 1))
        c->failed = true;
    return v;
}

/* Consume a checksum of 8 hexadecimal digits and return it. */
static uint32_t take_crc(struct cursor *c)
{
    char digits[9] = "";

    if (!c->failed && c->end - c->p >= 8)
        memcpy(digits, c->p, 8);
    if (!text_is_hex(digits, 8)) {
        c->failed = true;
        return 0;
    }
    c->p += 8;
    return (uint32_t)strtoul(digits, NULL, 16);
}

/* Consume the rest of the line as a file's name, into ret [MANIFEST_MAX_FILE + 1]. */
static void take_name(struct cursor *c, char *ret)
{
    const char *line = c->failed ? NULL : memchr(c->p, '\n', (size_t)(c->end - c->p));
    size_t n = line ? (size_t)(line - c->p) : 0;

    if (!line || n > MANIFEST_MAX_FILE) {
        c->failed = true;
        return;
    }
    memcpy(ret, c->p, n);
    ret[n] = '\0';
    c->p = line + 1;
    /* A zero byte would end the name early and hide what follows it. */
    if (strlen(ret) != n || !manifest_is_name(ret))
        c->failed = true;
}

/* Consume NO_CRC, or a checksum and return it.  Set *ret_sized to whether it is NO_CRC. */
static uint32_t take_crc_or_none(struct cursor *c, bool *ret_sized)
{
    size_t n = strlen(NO_CRC);

    *ret_sized = !c->failed && (size_t)(c->end - c->p) >= n && memcmp(c->p, NO_CRC, n) == 0;
    if (!*ret_sized)
        return take_crc(c);
    c->p += n;
    return 0;
}

/* Consume a file's line and append the file to the manifest.  If the line is not valid, set
 * c->failed and return 0; otherwise return as manifest_add.
 */
static int take_file(struct cursor *c, struct manifest *m, struct eddis_error *err)
{
    char name[MANIFEST_MAX_FILE + 1];
    bool sized;
    uint32_t crc = take_crc_or_none(c, &sized);
    int64_t bytes;

    take_word(c, " ");
    bytes = (int64_t)take_number(c, INT64_MAX);
    take_word(c, " ");
    take_name(c, name);
    c->failed = c->failed || sized != manifest_is_sized(name);
    return c->failed ? 0 : manifest_add(m, name, bytes, crc, err);
}

/* Consume a line of `key` and a number, at most max, and return the number. */
static uint64_t take_member(struct cursor *c, const char *key, uint64_t max)
{
    uint64_t v;

    take_word(c, key);
    v = take_number(c, max);
    take_word(c, "\n");
    return v;
}

/* Check that the files are sorted by name and no name occurs twice. */
static bool is_sorted(const struct manifest *m)
{
    for (size_t i = 1; i < m->n; i++)
        if (strcmp(m->file[i - 1].name, m->file[i].name) >= 0)
            return false;
    return true;
}

int manifest_parse(const char *text, size_t n, struct manifest *ret, struct eddis_error *err)
{
    struct cursor c = { text, text + n, false };
    struct manifest m = { 0 };
    const char *last;
    uint64_t files;
    int rc = 0;

    take_word(&c, "eddis checkpoint 1\n");
    m.meta.step = (int64_t)take_member(&c, "step ", INT64_MAX);
    m.meta.seed = take_member(&c, "seed ", UINT64_MAX);
    m.meta.samples = (int64_t)take_member(&c, "samples ", INT64_MAX);
    m.meta.batch = (int64_t)take_member(&c, "batch ", INT64_MAX);
    m.meta.n_ranks = (int)take_member(&c, "ranks ", INT32_MAX);
    m.meta.generation = (int)take_member(&c, "generation ", INT32_MAX);
    files = take_member(&c, "files ", CHECKPOINT_MAX_FILES);
    for (uint64_t i = 0; i < files && !c.failed && rc == 0; i++)
        rc = take_file(&c, &m, err);
    last = c.p;
    take_word(&c, "end ");
    if (rc == 0 && (take_crc(&c) != crc32_update(0, text, (size_t)(last - text)) || c.failed ||
                    c.end - c.p != 1 || *c.p != '\n' || !is_sorted(&m)))
        rc = eddis_fail(err, -EBADMSG, "the manifest is damaged");
    if (rc < 0)
        manifest_fini(&m);
    else
        *ret = m;
    return rc;
}

int manifest_parse_list(const char *text, size_t n, struct manifest *m, struct eddis_error *err)
{
    struct cursor c = { text, text + n, false };
    size_t before = m->n;
    int rc = 0;

    while (c.p < c.end && !c.failed && rc == 0)
        rc = take_file(&c, m, err);
    if (c.failed)
        rc = eddis_fail(err, -EINVAL, "a worker's list of its checkpoint files is damaged");
    if (rc < 0)
        m->n = before;
    return rc;
}
