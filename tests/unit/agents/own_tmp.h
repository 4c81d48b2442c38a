/* SPDX-License-Identifier: Apache-2.0 */
/* own_tmp.h - /tmp and /dev/shm of this process alone, where that may be made */
#ifndef EDDIS_TESTS_OWN_TMP_H
#define EDDIS_TESTS_OWN_TMP_H

#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>

/* Keepers of tests that run beside this one remove what is left there, also what a test has left on
 * purpose.  Whether they do not any more: false without the right to mount.
 */
static inline bool own_tmp(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777") == 0 &&
           mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777") == 0;
}

#endif
