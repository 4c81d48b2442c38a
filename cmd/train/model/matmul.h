/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.h - the three matrix products of training, row by row, over OpenBLAS
 *
 * add: 0 overwrites the result, 1 adds to it.  Where n, m or k is 0 the sum is empty.
 */
#ifndef EDDIS_TRAIN_MATMUL_H
#define EDDIS_TRAIN_MATMUL_H

#include "lib/base/error.h"
#include "real.h"

/* Let a large product of this process use n threads; small ones use one, because waking a second
 * costs more than it saves.
 */
void matmul_set_threads(int n);

/* Return the threads that OpenBLAS would take: its environment variables, else the cores of this
 * process. */
int matmul_default_threads(void);

/* Return the name of the processor whose kernels OpenBLAS has taken, as blas_core.h has it. */
const char *matmul_core(void);

/* Let OpenBLAS take what it works in, for all threads: where a process is refused memory for that,
 * later and amidst a product, it repeats the allocation for ever.  -ENOMEM.
 */
int matmul_warm_up(struct eddis_error *err);

/* c [n, m] = a [n, k] b [k, m] */
void matmul(real *c, const real *a, const real *b, int64_t n, int64_t k, int64_t m, int add);

/* c [k, m] = a' b with a [n, k], b [n, m]: a weight's gradient */
void matmul_ta(real *c, const real *a, const real *b, int64_t n, int64_t k, int64_t m, int add);

/* c [n, k] = a b' with a [n, m], b [k, m]: an input's gradient */
void matmul_tb(real *c, const real *a, const real *b, int64_t n, int64_t k, int64_t m, int add);

#endif
