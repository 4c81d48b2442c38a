/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h - a job that is read from a text, for the tests of jobs: jobs_add(tc) */
#ifndef EDDIS_TESTS_JOBS_H
#define EDDIS_TESTS_JOBS_H

#include "lib/job/job_read.h"
#include "lib/job/job_text.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each test has its own; include this header last, for the names are short. */
static struct job *job;
static struct eddis_error err;

static inline void jobs_begin(void)
{
    job = NULL;
    err = (struct eddis_error){ 0 };
}

static inline void jobs_end(void)
{
    job_free(job);
}

static inline void jobs_add(TCase *tc)
{
    tcase_add_checked_fixture(tc, jobs_begin, jobs_end);
}

/* Read a text of n bytes in the place of the job. */
static inline int parse_bytes(const char *text, size_t n)
{
    job_free(job);
    job = NULL;
    return job_parse(text, n, "train.yaml", "/home/ada/digits", &job, &err);
}

/* Read a text that must be right. */
static inline void read_job(const char *text)
{
    ck_assert_msg(parse_bytes(text, strlen(text)) == 0, "%s: %s", text, err.text);
}

/* Read the job's own text in its place. */
static inline void read_again(void)
{
    char *text = job_text(job);

    read_job(text);
    free(text);
}

/* The text is refused with this sentence, which the name of the file precedes; NULL: with any. */
static inline void check_refused(const char *text, const char *sentence)
{
    char want[600];

    ck_assert_int_eq(parse_bytes(text, strlen(text)), -EINVAL);
    ck_assert_ptr_null(job);
    (void)snprintf(want, sizeof want, "train.yaml:%s", sentence ? sentence : "");
    if (sentence)
        ck_assert_str_eq(err.text, want);
    else
        ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0, "%s", err.text);
}

#endif
