/* SPDX-License-Identifier: Apache-2.0 */
/* shm_region.h - memory without a name that processes of one node share
 *
 * A region is an anonymous memory file: one process makes it, others of the same user open it
 * through the maker's folder in /proc.  No file system holds it, so nothing is left of it when all
 * who have it open are gone, however they went, and its size is not that of /dev/shm.
 *
 * A region is used by its descriptor, which the caller closes.  Functions that return int return a
 * negative errno value on failure, for which the caller has the sentence.
 */
#ifndef EDDIS_BASE_SHM_REGION_H
#define EDDIS_BASE_SHM_REGION_H

#include <stddef.h>
#include <stdint.h>

enum { SHM_REGION_PATH = 64 };

/* What a region is opened by, as long as the process pid has it open as its descriptor fd. */
struct shm_region_mark {
    int64_t pid, fd;
    uint64_t inode, device; /* what must be found there; inode 0: anything */
};

/* Make an empty region; name is what /proc shows.  Returns its descriptor. */
int shm_region_make(const char *name);

/* Make it bytes long; what is new reads as zeros. */
int shm_region_resize(int fd, size_t bytes);

/* Describe this process's region. */
int shm_region_describe(int fd, struct shm_region_mark *ret);

/* Write the path that a mark stands for. */
void shm_region_path(const struct shm_region_mark *mark, char ret[SHM_REGION_PATH]);

/* Open the region that another process described.  Returns a descriptor of this process.  -ESTALE:
 * something else is there: the two do not see the same processes.
 */
int shm_region_open(const struct shm_region_mark *mark);

/* Return the length of the region in bytes. */
int64_t shm_region_bytes(int fd);

/* Have the system provide these bytes now: a page that is not there when it is first written to
 * kills whoever writes.  -EINTR: a signal came, nothing is changed.
 */
int shm_region_reserve(int fd, size_t at, size_t bytes);

/* Give these bytes back to the system; they read as zeros from then on. */
void shm_region_release(int fd, size_t at, size_t bytes);

/* Map these bytes, at a multiple of the page; the second one for reading only. */
int shm_region_map(int fd, size_t at, size_t bytes, void **ret);
int shm_region_view(int fd, size_t at, size_t bytes, const void **ret);

/* End a mapping of either kind.  Accepts NULL. */
void shm_region_unmap(const void *map, size_t bytes);

#endif
