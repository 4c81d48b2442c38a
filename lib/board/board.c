/* SPDX-License-Identifier: Apache-2.0 */
/* board.c - map the shared memory of a node; read and write it under its locks */
#include "board_impl.h"

#include "lib/base/cleanup.h"

#include "seqlock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Start of the part of a page that the sequence number guards; it reaches to the end. */
#define PAGE_HEAD offsetof(struct board_page, rank)
_Static_assert(PAGE_HEAD % 8 == 0 && sizeof(struct board_page) % 8 == 0 &&
                   sizeof(struct board_slot) % 8 == 0,
               "copied by words of 8 bytes");

/* Return the size of the file with pages for n_local workers. */
static size_t file_bytes(const struct board_area *a, int n_local)
{
    return (size_t)board_pages_at(a->n_ranks) + (size_t)n_local * BOARD_PAGE_BYTES;
}

/* Borrow the page of a local rank in the shared memory. */
static struct board_page *page_of(const struct board *b, int local_rank)
{
    return (struct board_page *)(b->map + file_bytes(&b->setup, local_rank));
}

/* Check that array s [size] holds a text: it contains a 0. */
static bool is_text(const char *s, size_t size)
{
    return memchr(s, 0, size) != NULL;
}

/* Check that the values of a communication choice are valid. */
static bool choice_is_valid(const struct comm_choice *c)
{
    return c->version >= 0 && c->direct_bytes >= 0 && c->tree_bytes >= 0 && c->halving_bytes >= 0 &&
           c->piece_bytes >= 0 && c->latency_s >= 0 && c->bytes_per_s >= 0 && c->n_order >= 0 &&
           c->n_order <= CHOICE_MAX_ORDER && c->n_buckets >= 0 &&
           c->n_buckets <= CHOICE_MAX_BUCKETS && is_text(c->reason, sizeof c->reason);
}

/* Check that the links to revalidate are valid. */
static bool checks_are_valid(const struct network_checks *c, int n_ranks)
{
    bool valid = c->turns >= 0 && c->turns <= NETWORK_CHECK_TURNS;

    for (int i = 0; c->turns && i < NETWORK_CHECK_ROWS; i++)
        valid = valid && c->row[i].peer >= -1 && c->row[i].peer < n_ranks && c->row[i].turn >= 0 &&
                c->row[i].turn < c->turns && (c->row[i].peer < 0 || c->row[i].bytes_per_s > 0);
    return valid;
}

bool board_groups_are_valid(const struct board_area *a)
{
    for (int r = 0; r < a->n_ranks; r++)
        if (a->group[r] < 0 || a->group[r] >= a->n_ranks || a->node_of[r] < 0 ||
            a->node_of[r] > (r ? a->node_of[r - 1] + 1 : 0) ||
            (r && a->node_of[r] < a->node_of[r - 1]))
            return false;
    return true;
}

bool board_area_is_valid(const struct board_area *a)
{
    return a->n_ranks >= 1 && a->n_ranks <= BOARD_MAX_RANKS && a->n_local >= 1 &&
           a->n_local <= BOARD_MAX_LOCAL && a->first_rank >= 0 &&
           a->first_rank <= a->n_ranks - a->n_local && is_text(a->mode, sizeof a->mode) &&
           is_text(a->algorithm, sizeof a->algorithm) && is_text(a->job, sizeof a->job) &&
           is_text(a->checkpoint_dir, sizeof a->checkpoint_dir) &&
           is_text(a->resume_from, sizeof a->resume_from) && choice_is_valid(&a->choice) &&
           checks_are_valid(&a->checks, a->n_ranks) && sync_options_are_valid(&a->options);
}

/* Make in *ret a board without a mapping, with a copy of this setup and its arrays.  Without arrays
 * all ranks are of one group and one node.  Return 0 or -ENOMEM; the caller frees *ret by
 * board_close.
 */
static int board_new(const struct board_area *setup, struct board **ret, struct eddis_error *err)
{
    struct board *b = calloc(1, sizeof *b);
    size_t n = (size_t)setup->n_ranks;

    if (b)
        b->places = calloc(2 * n, sizeof *b->places);
    if (!b || !b->places) {
        free(b);
        return eddis_fail(err, -ENOMEM, "no memory for a progress board");
    }
    b->local_rank = -1;
    b->setup = *setup;
    b->setup.group = b->places;
    b->setup.node_of = b->places + n;
    if (setup->group)
        memcpy(b->places, setup->group, n * sizeof *b->places);
    if (setup->node_of)
        memcpy(b->places + n, setup->node_of, n * sizeof *b->places);
    *ret = b;
    return 0;
}

/* Map the whole file for reading and writing, and store the mapping in b, which owns it.  Return 0
 * or a negative errno.
 */
static int map_file(struct board *b, int fd, const char *path, struct eddis_error *err)
{
    size_t size = file_bytes(&b->setup, b->setup.n_local);
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED)
        return eddis_fail_errno(err, -errno, "cannot map progress board '%s'", path);
    b->map = map;
    b->size = size;
    return 0;
}

/* Write the constant part of the area, and groups and nodes of the ranks, to the shared memory for
 * the workers.
 */
static void write_setup(struct board *b)
{
    size_t n = (size_t)b->setup.n_ranks;
    struct board_area *a = board_area_of(b);

    b->setup.magic = BOARD_MAGIC;
    b->setup.version = BOARD_VERSION;
    b->setup.sequence = 0;
    b->setup.plan_version = 0;
    *a = b->setup;
    a->group = a->node_of = NULL;
    memcpy(b->map + BOARD_GROUP_AT, b->setup.group, n * sizeof *b->places);
    memcpy(b->map + board_node_at(b->setup.n_ranks), b->setup.node_of, n * sizeof *b->places);
}

int board_create(const char *path, const struct board_area *setup, struct board **ret,
                 struct eddis_error *err)
{
    cleanup_fd int fd = -1;
    struct board *b = NULL;
    size_t size;
    int rc;

    if (!board_area_is_valid(setup))
        return eddis_fail(err, -EINVAL, "a progress board cannot have %d of %d ranks from %d on",
                          setup->n_local, setup->n_ranks, setup->first_rank);
    rc = board_new(setup, &b, err);
    if (rc < 0)
        return rc;
    if (!board_groups_are_valid(&b->setup)) {
        board_close(b);
        return eddis_fail(err, -EINVAL, "a progress board has no groups or no nodes");
    }
    size = file_bytes(setup, setup->n_local);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        rc = eddis_fail_errno(err, -errno, "cannot make progress board '%s'", path);
        board_close(b);
        return rc;
    }
    /* Allocate all blocks now: a full /dev/shm is an error here, and would be a SIGBUS in a worker
     * later.
     */
    rc = -posix_fallocate(fd, 0, (off_t)size);
    if (rc < 0) {
        eddis_fail_errno(err, rc, "no room for progress board '%s' (%zu bytes)", path, size);
        goto fail;
    }
    rc = map_file(b, fd, path, err);
    if (rc < 0)
        goto fail;
    write_setup(b);
    *ret = b;
    return 0;
fail:
    (void)unlink(path);
    board_close(b);
    return rc;
}

/* Copy a page to *ret in a consistent state.  Return 0 or -EAGAIN: its writer was busy in all
 * tries; *ret is then undefined.
 */
static int copy_page(const struct board *b, int local_rank, struct board_page *ret)
{
    struct board_page *page = page_of(b, local_rank);

    for (int i = 0; i < BOARD_READ_TRIES; i++) {
        uint32_t seen;

        if (seqlock_read_begin(&page->sequence, &seen)) {
            seqlock_load(&ret->rank, &page->rank, sizeof *page - PAGE_HEAD);
            ret->magic = seqlock_load_u64(&page->magic);
            ret->version = __atomic_load_n(&page->version, __ATOMIC_RELAXED);
            ret->sequence = seen;
            if (seqlock_read_end(&page->sequence, seen))
                return 0;
        }
        seqlock_pause();
    }
    return -EAGAIN;
}

/* Check that no time is negative. */
static bool times_are_valid(const struct board_times *t)
{
    return t->input_ns >= 0 && t->compute_ns >= 0 && t->exposed_ns >= 0 && t->wait_ns >= 0 &&
           t->total_ns >= 0;
}

/* Check that the program's sizes are valid. */
static bool program_is_valid(const struct program *p)
{
    return p->gradient_bytes >= 0 && p->float32_bytes >= 0 &&
           p->float32_bytes <= p->gradient_bytes && p->largest_bytes >= 0 &&
           p->largest_behind >= 0 && p->largest_bytes <= p->gradient_bytes - p->largest_behind &&
           p->centre_bytes >= 0 && p->min_count >= 0 && is_text(p->gradients, sizeof p->gradients);
}

/* Check that the page is of this rank and layout and its values are valid. */
static bool page_is_valid(const struct board *b, int local_rank, const struct board_page *p)
{
    if (p->version != BOARD_VERSION || p->local_rank != local_rank ||
        p->rank != b->setup.first_rank + local_rank || p->phase < 0 || p->steps_done < 0 ||
        p->steps_done > BOARD_MOST_STEPS || p->steps_here < 0 || p->model_bytes < 0 ||
        !program_is_valid(&p->program) || p->step_plan < 0 || p->steps_before < 0 ||
        p->samples_done < 0 || p->samples_before < 0 || p->memory_bytes < 0 || p->at_once < 0 ||
        p->exchanges < 0 || p->exchange_ns < 0 || p->thread < 0 || p->samples_in_epoch < 0 ||
        p->restored_samples < 0 || p->restored_at < 0 || p->steps_source < 0 ||
        p->steps_source > BOARD_STEPS_OUTPUT || p->own_times < 0 || p->thread > INT32_MAX ||
        p->plan_since < -1 || p->waits_for < -1 || p->waits_for >= b->setup.n_ranks ||
        !times_are_valid(&p->sum) || !times_are_valid(&p->sum_before))
        return false;
    for (int i = 0; i < BOARD_METRICS; i++)
        if (!is_text(p->metric[i].name, sizeof p->metric[i].name))
            return false;
    for (int i = 0; i < BOARD_RING; i++)
        if (!times_are_valid(&p->ring[i].t) || p->ring[i].count < 0 || !(p->ring[i].work >= 0))
            return false;
    return choice_is_valid(&p->choice);
}

int board_read(const struct board *b, int local_rank, struct board_page *ret,
               struct eddis_error *err)
{
    struct board_page page;
    int rank;

    if (local_rank < 0 || local_rank >= b->setup.n_local)
        return eddis_fail(err, -EINVAL, "no local rank %d on this node", local_rank);
    rank = b->setup.first_rank + local_rank;
    if (seqlock_load_u64(&page_of(b, local_rank)->magic) == 0)
        return eddis_fail(err, -ENODATA, "rank %d has not opened its progress page yet", rank);
    if (copy_page(b, local_rank, &page) < 0)
        return eddis_fail(err, -EAGAIN, "the progress page of rank %d is being written", rank);
    if (page.magic != BOARD_MAGIC || !page_is_valid(b, local_rank, &page))
        return eddis_fail(err, -EPROTO, "the progress page of rank %d is damaged", rank);
    *ret = page;
    return 0;
}

/* Check whether a process has opened the page. */
static bool page_is_open(const struct board_page *page)
{
    return seqlock_load_u64(&page->magic) == BOARD_MAGIC;
}

/* Check whether the page is written from the worker's output, not by the worker itself. */
static bool page_is_output(const struct board_page *page)
{
    return __atomic_load_n(&page->steps_source, __ATOMIC_ACQUIRE) == BOARD_STEPS_OUTPUT;
}

bool board_all_mapped(const struct board *b)
{
    for (int i = 0; i < b->setup.n_local; i++)
        if (!page_is_open(page_of(b, i)) || page_is_output(page_of(b, i)))
            return false;
    return true;
}

/* Set the error of a damaged board.  Return -EPROTO. */
static int damaged(const char *path, struct eddis_error *err)
{
    return eddis_fail(err, -EPROTO, "progress board '%s' is damaged", path);
}

/* Read the area from the file to *ret and check it, before anything is mapped, so that no size is
 * trusted.  Return 0 or a negative errno, and then *ret is undefined; -EPROTO: not a board, of
 * another layout, or damaged.
 */
static int read_area(int fd, const char *path, struct board_area *ret, struct eddis_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot look at progress board '%s'", path);
    if (!S_ISREG(st.st_mode) || pread(fd, ret, sizeof *ret, 0) != (ssize_t)sizeof *ret ||
        ret->magic != BOARD_MAGIC)
        return eddis_fail(err, -EPROTO, "'%s' is not a progress board", path);
    if (ret->version != BOARD_VERSION)
        return eddis_fail(err, -EPROTO,
                          "progress board '%s' has layout %u, but this program has layout %d; the "
                          "job's nodes need the same version of eddis",
                          path, ret->version, BOARD_VERSION);
    ret->group = ret->node_of = NULL;
    if (!board_area_is_valid(ret) || (uint64_t)st.st_size != file_bytes(ret, ret->n_local))
        return damaged(path, err);
    return 0;
}

/* Read the area and the ranks' groups and nodes into a new board *ret, without a mapping, which the
 * caller frees by board_close.  Return 0 or a negative errno; -EPROTO: see read_area.
 */
static int read_setup(int fd, const char *path, struct board **ret, struct eddis_error *err)
{
    cleanup_free struct board_area *area = malloc(sizeof *area);
    ssize_t bytes;
    struct board *b;
    int rc;

    if (!area)
        return eddis_fail(err, -ENOMEM, "no memory for a progress board");
    if ((rc = read_area(fd, path, area, err)) < 0 || (rc = board_new(area, &b, err)) < 0)
        return rc;
    bytes = (ssize_t)((size_t)area->n_ranks * sizeof *b->places);
    if (pread(fd, b->places, (size_t)bytes, BOARD_GROUP_AT) != bytes ||
        pread(fd, b->places + area->n_ranks, (size_t)bytes, (off_t)board_node_at(area->n_ranks)) !=
            bytes ||
        !board_groups_are_valid(&b->setup)) {
        board_close(b);
        return damaged(path, err);
    }
    *ret = b;
    return 0;
}

/* Check whether another living process has this page as its own, so that it cannot be taken over.
 */
static bool page_is_taken(const struct board_page *page)
{
    pid_t pid = __atomic_load_n(&page->pid, __ATOMIC_RELAXED);

    return page_is_open(page) && !page_is_output(page) && pid > 0 && pid != getpid() &&
           (kill(pid, 0) == 0 || errno == EPERM);
}

/* Set up b->page for this local rank and process pid, publish it, and mark the page open. */
static void init_page(struct board *b, int local_rank, pid_t pid)
{
    struct board_page *page = page_of(b, local_rank);

    b->local_rank = local_rank;
    b->page.version = BOARD_VERSION;
    b->page.rank = b->setup.first_rank + local_rank;
    b->page.local_rank = local_rank;
    b->page.pid = pid;
    b->page.asked_step = -1;
    b->page.plan_since = -1;
    b->page.waits_for = -1;
    b->page.magic = BOARD_MAGIC;
    /* A dead predecessor may have left the sequence number odd. */
    __atomic_and_fetch(&page->sequence, ~1U, __ATOMIC_RELAXED);
    seqlock_write_begin(&page->sequence);
    seqlock_store(&page->rank, &b->page.rank, sizeof *page - PAGE_HEAD);
    __atomic_store_n(&page->version, BOARD_VERSION, __ATOMIC_RELEASE);
    seqlock_write_end(&page->sequence);
    seqlock_store_u64(&page->magic, BOARD_MAGIC);
}

/* Map the file and open the page of a local rank: for the worker itself if pid is 0, otherwise for
 * the output of process pid.  -EBUSY: the page belongs to another process; other failures as
 * board_open.
 */
static int open_page(const char *path, int local_rank, pid_t pid, struct board **ret,
                     struct eddis_error *err)
{
    cleanup_fd int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct board *b = NULL;
    int rc;

    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot open progress board '%s'", path);
    rc = read_setup(fd, path, &b, err);
    if (rc < 0)
        return rc;
    if (local_rank < 0 || local_rank >= b->setup.n_local)
        rc = eddis_fail(err, -EINVAL, "progress board '%s' has no page for local rank %d", path,
                        local_rank);
    else
        rc = map_file(b, fd, path, err);
    if (rc == 0 &&
        (pid ? page_is_open(page_of(b, local_rank)) : page_is_taken(page_of(b, local_rank))))
        rc = eddis_fail(err, -EBUSY, "the progress page of local rank %d belongs to process %d",
                        local_rank, page_of(b, local_rank)->pid);
    if (rc < 0) {
        board_close(b);
        return rc;
    }
    b->page.steps_source = pid ? BOARD_STEPS_OUTPUT : 0;
    init_page(b, local_rank, pid ? pid : getpid());
    *ret = b;
    return 0;
}

int board_open(const char *path, int local_rank, struct board **ret, struct eddis_error *err)
{
    return open_page(path, local_rank, 0, ret, err);
}

int board_open_output(const char *path, int local_rank, pid_t pid, struct board **ret,
                      struct eddis_error *err)
{
    return open_page(path, local_rank, pid, ret, err);
}

bool board_is_output(const struct board *b)
{
    return page_is_output(page_of(b, b->local_rank));
}

void board_renew(struct board *b)
{
    b->page = (struct board_page){ .magic = 0 };
    b->published = 0;
    init_page(b, b->local_rank, getpid());
}

struct board_page *board_begin(struct board *b)
{
    return &b->page;
}

void board_end(struct board *b)
{
    struct board_page *page = page_of(b, b->local_rank);
    int64_t done = b->page.steps_done;
    int64_t from = b->published;

    if (from > done || from < done - BOARD_RING)
        from = done - BOARD_RING;
    /* The newest slot again, even without a new step: its writer may have completed it. */
    if (from == done)
        from--;
    if (from < 0)
        from = 0;
    seqlock_write_begin(&page->sequence);
    seqlock_store(&page->rank, &b->page.rank, offsetof(struct board_page, ring) - PAGE_HEAD);
    for (int64_t s = from; s < done; s++)
        seqlock_store(&page->ring[s % BOARD_RING], &b->page.ring[s % BOARD_RING],
                      sizeof page->ring[0]);
    seqlock_write_end(&page->sequence);
    b->published = done;
}

void board_choose(struct board *b, const struct comm_choice *choice)
{
    struct board_page *page = page_of(b, b->local_rank);
    int32_t version = b->page.choice.version + 1;

    b->page.choice = *choice;
    b->page.choice.version = version;
    seqlock_write_begin(&page->sequence);
    seqlock_store(&page->choice, &b->page.choice, sizeof page->choice);
    seqlock_write_end(&page->sequence);
}

const struct board_page *board_own(const struct board *b)
{
    return &b->page;
}

const struct board_area *board_setup(const struct board *b)
{
    return &b->setup;
}

/* Write the path of the note of board_note_left to ret; return false if it is too long. */
static bool left_path(const char *path, int local_rank, char ret[PATH_MAX])
{
    return snprintf(ret, PATH_MAX, "%s.left-%d", path, local_rank) < PATH_MAX;
}

bool board_note_left(const char *path, int local_rank, bool left)
{
    char name[PATH_MAX];
    int fd;

    if (!left_path(path, local_rank, name))
        return false;
    if (!left)
        return unlink(name) < 0 && errno != ENOENT;
    fd = open(name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

bool board_left(const char *path, int local_rank)
{
    char name[PATH_MAX];

    return left_path(path, local_rank, name) && access(name, F_OK) == 0;
}

void board_close(struct board *b)
{
    if (!b)
        return;
    if (b->map)
        (void)munmap(b->map, b->size);
    free(b->places);
    free(b);
}
