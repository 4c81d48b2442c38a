/* SPDX-License-Identifier: Apache-2.0 */
/* fake_root.h - a folder in the place of "/", with files as a test wants them */
#ifndef EDDIS_TESTS_FAKE_ROOT_H
#define EDDIS_TESTS_FAKE_ROOT_H

#include "lib/base/file.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct fake_root {
    char path[64];
};

static inline void fake_root_init(struct fake_root *r)
{
    strcpy(r->path, "/tmp/eddis-root-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(r->path));
}

static inline void fake_root_add(const struct fake_root *r, const char *path, const char *text)
{
    char *full = file_join(r->path, "%s", path);
    char *slash = strrchr(full, '/');

    *slash = 0;
    ck_assert_int_eq(file_mkdirs(full, 0755, NULL), 0);
    *slash = '/';
    ck_assert_int_eq(file_write_atomic(full, text, strlen(text), 0644, NULL), 0);
    free(full);
}

static inline void fake_root_fini(struct fake_root *r)
{
    ck_assert_int_eq(file_remove_tree(r->path, NULL), 0);
}

#endif
