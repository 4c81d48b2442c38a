/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.h - the three matrix products of training, in row-major order, over OpenBLAS
 *
 * add 0: overwrite the result; 1: add to it. If n, m or k is 0, the sums are empty.
 */
#ifndef EDDIS_TRAIN_MATMUL_H
#define EDDIS_TRAIN_MATMUL_H

#include "lib/base/error.h"

#include <stdint.h>

/* Let large products of this process use n threads. Small products use one thread, because waking
 * further threads costs more time than it saves.
 */
void matmul_set_threads(int n);

/* Return the number of threads that OpenBLAS uses by default: from its environment variables, or
 * otherwise the number of cores that this process may use.
 */
int matmul_default_threads(void);

/* Return the name of the processor for which OpenBLAS's present kernels are made, in the spelling
 * of blas_core.h; OpenBLAS owns the string.
 */
const char *matmul_core(void);

/* Let OpenBLAS allocate its working memory for all threads now, since OpenBLAS retries an
 * allocation that fails during a product forever. Return 0 or -ENOMEM.
 */
int matmul_warm_up(struct eddis_error *err);

/* Compute c [n, m] = a [n, k] b [k, m]. */
void matmul(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int add);

/* Compute c [k, m] = transpose(a) b with a [n, k], b [n, m]: a weight's gradient. */
void matmul_ta(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int add);

/* Compute c [n, k] = a transpose(b) with a [n, m], b [k, m]: an input's gradient. */
void matmul_tb(float *c, const float *a, const float *b, int64_t n, int64_t k, int64_t m, int add);

#endif
