/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.h - the three matrix products of training, in row-major order, over OpenBLAS
 *
 * add: 0 overwrites the result, 1 adds to it.  If n, m or k is 0, the sum is empty.
 */
#ifndef EDDIS_TRAIN_MATMUL_H
#define EDDIS_TRAIN_MATMUL_H

#include "lib/base/error.h"

#include <stdint.h>

/* Let large products of this process use n threads.  Small ones use one thread, because waking
 * another costs more than it saves.
 */
void matmul_set_threads(int n);

/* Return the number of threads that OpenBLAS uses by default: from its environment variables, else
 * the cores of this process.
 */
int matmul_default_threads(void);

/* Return the name of the processor whose kernels OpenBLAS uses, in the spelling of blas_core.h. */
const char *matmul_core(void);

/* Let OpenBLAS allocate its working memory for all threads now.  If an allocation fails later,
 * during a product, OpenBLAS retries it forever.  -ENOMEM.
 */
int matmul_warm_up(struct eddis_error *err);

/* Compute c [n, m] = a [n, k] b [k, m]. */
void matmul(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int add);

/* Compute c [k, m] = transpose(a) b with a [n, k], b [n, m]: a weight's gradient. */
void matmul_ta(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int add);

/* Compute c [n, k] = a transpose(b) with a [n, m], b [k, m]: an input's gradient. */
void matmul_tb(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int add);

#endif
