/* SPDX-License-Identifier: Apache-2.0 */
/* shm_region.h - unnamed memory that processes of one node share
 *
 * A region is an anonymous memory file (memfd).  One process makes it; other processes of the same
 * user open it through the maker's /proc/PID/fd.  Since no file system contains the region, it
 * vanishes when all processes that have it open have ended, however they ended.  The size of
 * /dev/shm does not limit a region.
 *
 * A region is identified by its descriptor, which the caller closes.  Functions that return int
 * return a negative errno value on failure; they write no error text.
 */
#ifndef EDDIS_BASE_SHM_REGION_H
#define EDDIS_BASE_SHM_REGION_H

#include <stddef.h>
#include <stdint.h>

enum { SHM_REGION_PATH = 64 };

/* Identification of a region, valid while process `pid` has it open as descriptor `fd` */
struct shm_region_mark {
    int64_t pid, fd;
    uint64_t inode, device; /* expected identity of the file; inode 0: not checked */
};

/* Make an empty region; /proc shows `name`.  Return its close-on-exec descriptor, for the caller to
 * close, or a negative errno.
 */
int shm_region_make(const char *name);

/* Set the length of the region in bytes; new bytes read as zeros.  Return 0 or a negative errno. */
int shm_region_resize(int fd, size_t bytes);

/* Fill *ret with the identification of this process's region.  Return 0 or a negative errno; *ret
 * is then unchanged.
 */
int shm_region_describe(int fd, struct shm_region_mark *ret);

/* Write the /proc path of the region that *mark identifies to ret. */
void shm_region_path(const struct shm_region_mark *mark, char ret[SHM_REGION_PATH]);

/* Open a region that another process identified by shm_region_describe.  Return a descriptor for
 * the caller to close, or a negative errno.  -ESTALE: the path leads to another file, because the
 * two processes are in different pid namespaces.
 */
int shm_region_open(const struct shm_region_mark *mark);

/* Return the length of the region in bytes, or a negative errno. */
int64_t shm_region_bytes(int fd);

/* Allocate the region's bytes at .. at + bytes now.  Without it, a first write to a page that the
 * system cannot provide kills the process.  Return 0 or a negative errno.  -EINTR: interrupted by a
 * signal, nothing changed.
 */
int shm_region_reserve(int fd, size_t at, size_t bytes);

/* Return the memory of these bytes to the system; they then read as zeros. */
void shm_region_release(int fd, size_t at, size_t bytes);

/* Map these bytes for reading and writing into *ret; `at` is a multiple of the page size.  Return 0
 * or a negative errno.  The caller unmaps them by shm_region_unmap.
 */
int shm_region_map(int fd, size_t at, size_t bytes, void **ret);

/* Map these bytes read-only into *ret; `at` is a multiple of the page size.  Return 0 or a negative
 * errno.  The caller unmaps them by shm_region_unmap.
 */
int shm_region_view(int fd, size_t at, size_t bytes, const void **ret);

/* Remove a mapping of either kind.  Accepts NULL. */
void shm_region_unmap(const void *map, size_t bytes);

#endif
