/* SPDX-License-Identifier: Apache-2.0 */
/* real.h - the number type of the trainer: float, or double for the test of exactness */
#ifndef EDDIS_TRAIN_REAL_H
#define EDDIS_TRAIN_REAL_H

#include <cblas.h>
#include <math.h>
#include <stdint.h>

#ifdef EDDIS_TRAIN_FLOAT64
typedef double real;
typedef int64_t real_index; /* as wide as a real, so that loops over both are vectorised */
#define real_gemm  cblas_dgemm
#define real_exp   exp
#define real_sqrt  sqrt
#define REAL_DTYPE EDDIS_FLOAT64
#else
typedef float real;
typedef int32_t real_index; /* as wide as a real, so that loops over both are vectorised */
#define real_gemm  cblas_sgemm
#define real_exp   expf
#define real_sqrt  sqrtf
#define REAL_DTYPE EDDIS_FLOAT32
#endif

#endif
