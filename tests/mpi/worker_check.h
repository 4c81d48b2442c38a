/* SPDX-License-Identifier: Apache-2.0 */
/* worker_check.h - checks of a scenario's worker w, which has `world` and counts its `failures` */
#ifndef EDDIS_TESTS_WORKER_CHECK_H
#define EDDIS_TESTS_WORKER_CHECK_H

#include "lib/base/error.h"

#include <stdio.h>

#define CHECK(w, cond, ...)                                                                        \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "rank %d: %s:%d: %s: ", (w)->world.rank, __FILE__, __LINE__, #cond);   \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
            (w)->failures++;                                                                       \
        }                                                                                          \
    } while (0)

#define OK(w, call)                                                                                \
    do {                                                                                           \
        struct eddis_error err = { 0 };                                                            \
        int rc_ = (call);                                                                          \
        CHECK(w, rc_ >= 0, "%d %s", rc_, err.text);                                                \
    } while (0)

#endif
