/* SPDX-License-Identifier: Apache-2.0 */
/* address_space.c - reserve address space as a trial, and release it */
#include "address_space.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

int address_space_check(size_t bytes, const char *what, struct eddis_error *err)
{
    struct rlimit l;
    void *p;

    if (getrlimit(RLIMIT_AS, &l) < 0 || l.rlim_cur == RLIM_INFINITY)
        return 0;
    p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return eddis_fail(err, -ENOMEM,
                          "the address space is limited to %llu MB (ulimit -v), but %s needs %zu "
                          "MB of free address space; raise the limit (ulimit -v unlimited)",
                          (unsigned long long)(l.rlim_cur / 1000000), what, bytes / 1000000);
    (void)munmap(p, bytes);
    return 0;
}
