/* SPDX-License-Identifier: Apache-2.0 */
/* node_log.c - writes agent.log */
#include "node_log.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE_NS CLOCK_S /* time limit for a file system that does not respond */

struct node_log {
    int fd;
    struct file_thread *files;
};

/* One line to be written by the file thread. */
struct line {
    struct file_task task;
    int fd;
    size_t n;
    char text[];
};

int node_log_open(const char *dir, struct file_thread *files, struct node_log **ret,
                  struct eddis_error *err)
{
    cleanup_free char *path = file_join(dir, "agent.log");
    struct node_log *l;
    int rc = path ? file_mkdirs(dir, 0700, err) : 0; /* dir may be missing on this node */

    if (rc < 0)
        return rc;
    l = path ? malloc(sizeof *l) : NULL;
    if (!l)
        return eddis_fail(err, -ENOMEM, "no memory for the agent's log");
    l->fd = rc = file_open_append(path, 0600, err);
    if (rc < 0) {
        free(l);
        return rc;
    }
    l->files = files;
    *ret = l;
    return 0;
}

/* Write one line to the log (file_task.run, on the file thread). */
static void write_line(struct file_task *k)
{
    const struct line *line = (const struct line *)k;

    (void)file_write_all(line->fd, line->text, line->n, NULL);
}

/* Queue n bytes of text for the file thread; without memory they are lost. */
static void add(struct node_log *l, const char *text, size_t n)
{
    struct line *line = malloc(sizeof *line + n);

    if (!line)
        return;
    *line = (struct line){ .task = { .run = write_line }, .fd = l->fd, .n = n };
    memcpy(line->text, text, n);
    file_thread_add(l->files, &line->task);
}

void node_log_say(struct node_log *l, const char *fmt, ...)
{
    char line[1024];
    size_t n;
    va_list ap;

    if (!l)
        return;
    clock_wall_text(clock_wall_ns(), line, 32);
    n = strlen(line);
    line[n++] = ' ';
    va_start(ap, fmt);
    vsnprintf(line + n, sizeof line - n - 1, fmt, ap);
    va_end(ap);
    text_strip_control(line);
    n = strlen(line);
    line[n] = '\n';
    add(l, line, n + 1);
}

int node_log_fd(const struct node_log *l)
{
    return l ? l->fd : -1;
}

bool node_log_close(struct node_log *l)
{
    bool over;

    if (!l)
        return true;
    over = file_thread_settle(l->files, clock_after_ns(clock_now_ns(), CLOSE_NS));
    if (over)
        (void)close(l->fd); /* otherwise the thread may still write to it */
    free(l);
    return over;
}
