/* SPDX-License-Identifier: Apache-2.0 */
/* status_far.c - runs eddis-status on the node of the job's driver, through srun */
#include "status_far.h"

#include "cmd/slurm/slurm_lookup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Longest wait for one answer, since the driver may be busy. */
static const int64_t most_ns = 60 * CLOCK_S;

/* Output of eddis-status on the other node that is being printed. */
struct text {
    bool plain;      /* remove control characters */
    char line[4096]; /* an incomplete line, of n bytes */
    size_t n;
};

/* Print the collected line without control characters, then `end`, and begin a new line. */
static void end_line(struct text *t, const char *end)
{
    t->line[t->n] = '\0';
    t->n = 0;
    text_make_plain(t->line);
    fputs(t->line, stdout);
    fputs(end, stdout);
}

/* Print output bytes; if t->plain is set, line by line without control characters. A callback of
 * srun_proxy_run; ctx: struct text.
 */
static void pass(void *ctx, const char *bytes, size_t n)
{
    struct text *t = ctx;

    if (!t->plain)
        (void)fwrite(bytes, 1, n, stdout);
    for (size_t i = 0; t->plain && i < n; i++) {
        if (bytes[i] == '\n')
            end_line(t, "\n");
        else
            t->line[t->n++] = bytes[i];
        if (t->n == sizeof t->line - 1)
            end_line(t, "");
    }
    (void)fflush(stdout);
}

int status_far_print(const struct srun_proxy *proxy, const struct strlist *words, bool plain,
                     int64_t longest_ns, struct eddis_error *err)
{
    struct text t = { .plain = plain };
    int rc = srun_proxy_run(proxy, (const char *const *)words->item, longest_ns, pass, &t, err);

    if (t.n)
        end_line(&t, "");
    return rc;
}

int status_far_fetch(const struct srun_proxy *proxy, const char *word, struct job_status *ret,
                     struct eddis_error *err)
{
    const char *const words[] = { "eddis-status", word, "--once", "--json", NULL };
    cleanup_strbuf struct strbuf b = { 0 };
    int rc = srun_proxy_run(proxy, words, most_ns, srun_proxy_keep, &b, err);

    if (rc == 0)
        rc = b.failed
                 ? eddis_fail(err, -ENOMEM, "no memory for the status")
                 : job_status_parse(strbuf_text(&b), b.len, "answer of eddis-status", ret, err);
    return rc;
}

/* State of status_far_watch. */
struct watch {
    struct strbuf b; /* an incomplete line */
    int (*show)(void *ctx, struct job_status *s, struct eddis_error *err);
    void *ctx;
    int rc;                 /* result of the first show() that failed ... */
    struct eddis_error err; /* ... and the error of that show() */
};

/* Parse each complete line of output as a status and pass it to w->show, unless an earlier show()
 * has failed. Ignore lines that are no status. A callback of srun_proxy_run; ctx: struct watch.
 */
static void take_lines(void *ctx, const char *bytes, size_t n)
{
    struct watch *w = ctx;
    const char *at, *end, *all;

    strbuf_add_bytes(&w->b, bytes, n);
    all = strbuf_text(&w->b);
    for (at = all; (end = memchr(at, '\n', w->b.len - (size_t)(at - all))); at = end + 1) {
        struct job_status s;

        if (w->rc == 0 &&
            job_status_parse(at, (size_t)(end - at), "answer of eddis-status", &s, &w->err) == 0)
            w->rc = w->show(w->ctx, &s, &w->err);
    }
    strbuf_drop(&w->b, (size_t)(at - all));
}

int status_far_watch(const struct srun_proxy *proxy, const char *word, int64_t interval_ns,
                     int (*show)(void *ctx, struct job_status *s, struct eddis_error *err),
                     void *ctx, struct eddis_error *err)
{
    struct watch w = { .show = show, .ctx = ctx };
    char interval[32];
    const char *const words[] = { "eddis-status", word,     "--watch", "--json",
                                  "--interval",   interval, NULL };
    int rc;

    (void)snprintf(interval, sizeof interval, "%" PRId64 "ms", interval_ns / CLOCK_MS);
    rc = srun_proxy_run(proxy, words, CLOCK_NEVER, take_lines, &w, err);
    strbuf_fini(&w.b);
    if (w.rc < 0 && err)
        *err = w.err;
    return w.rc < 0 ? w.rc : rc;
}

bool status_far_ended(const struct srun_proxy *proxy, char *ret, size_t size)
{
    struct slurm_job j;
    int rc = slurm_lookup_await_end(proxy->name, slurm_job_is_over, clock_now_ns() + 20 * CLOCK_S,
                                    &j, NULL);

    if (rc == 0)
        (void)snprintf(ret, size, "%s, exit code %d", j.state, slurm_job_code(&j));
    else
        (void)snprintf(ret, size, "Slurm no longer knows how");
    return rc == 0 || rc == -ENOENT;
}
