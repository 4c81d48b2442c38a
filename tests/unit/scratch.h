/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h - a folder of its own for each test of a suite: scratch_add(tc), then `scratch`
 *
 * A test that fails ends without its own tear-down; so the folders of all lie in one, which goes
 * when the suite ends.
 */
#ifndef EDDIS_TESTS_SCRATCH_H
#define EDDIS_TESTS_SCRATCH_H

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static char scratch_base[] = "/tmp/eddis-test-XXXXXX", scratch[64];

static inline void scratch_begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(scratch_base));
}

static inline void scratch_end(void)
{
    ck_assert_int_eq(file_remove_tree(scratch_base, NULL), 0);
}

static inline void scratch_make(void)
{
    (void)snprintf(scratch, sizeof scratch, "%s/XXXXXX", scratch_base);
    ck_assert_ptr_nonnull(mkdtemp(scratch));
}

static inline void scratch_remove(void)
{
    ck_assert_int_eq(file_remove_tree(scratch, NULL), 0);
}

/* Fixtures that are added to tc later may use the folder. */
static inline void scratch_add(TCase *tc)
{
    tcase_add_unchecked_fixture(tc, scratch_begin, scratch_end);
    tcase_add_checked_fixture(tc, scratch_make, scratch_remove);
}

/* Returns what is in a file of it; NULL: nothing can be read. */
static inline char *scratch_content(const char *name)
{
    cleanup_free char *path = file_join(scratch, "%s", name);
    char *text = NULL;

    return file_read(path, 1 << 26, &text, NULL, NULL) < 0 ? NULL : text;
}

static inline void scratch_write(const char *name, const char *text, mode_t mode)
{
    cleanup_free char *path = file_join(scratch, "%s", name);

    ck_assert_int_eq(file_write_atomic(path, text, strlen(text), mode, NULL), 0);
}

/* Make a program in it, a script in a form as of printf, and put the folder in front in PATH. */
__attribute__((format(printf, 2, 3))) static inline void scratch_program(const char *name,
                                                                         const char *form, ...)
{
    cleanup_free char *script = NULL, *text = NULL, *search = NULL;
    va_list args;

    va_start(args, form);
    ck_assert_int_ge(vasprintf(&script, form, args), 0);
    va_end(args);
    ck_assert_int_ge(asprintf(&text, "#!/bin/sh\n%s\n", script), 0);
    ck_assert_int_ge(asprintf(&search, "%s:/usr/bin:/bin", scratch), 0);
    scratch_write(name, text, 0700);
    ck_assert_int_eq(setenv("PATH", search, 1), 0);
}

/* Check what is in a file of it. */
static inline void scratch_expect(const char *name, const char *want)
{
    cleanup_free char *text = scratch_content(name);

    ck_assert_msg(text && strcmp(text, want) == 0, "%s has '%s'", name, text ? text : "");
}

/* From here on no file of this process may be longer, which is how a full disk is emulated. */
static inline void scratch_limit_files(rlim_t bytes)
{
    struct rlimit l;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes < l.rlim_max ? bytes : l.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &l), 0);
}

#endif
