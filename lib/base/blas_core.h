/* SPDX-License-Identifier: Apache-2.0 */
/* blas_core.h - select better kernels for a processor that OpenBLAS does not know
 *
 * When OpenBLAS is loaded, it chooses its kernels by the processor's model number.  For a processor
 * newer than the library it falls back to the kernels of the first 64-bit processors, at a fifth of
 * the speed.  Example: OpenBLAS 0.3.21 (Debian 12) on Intel processors from 2023 on.
 */
#ifndef EDDIS_BASE_BLAS_CORE_H
#define EDDIS_BASE_BLAS_CORE_H

#define BLAS_CORE_VARIABLE "OPENBLAS_CORETYPE" /* read when OpenBLAS is loaded */

/* Return the value for OPENBLAS_CORETYPE that selects better kernels than those in use, whose name
 * `taken` is from openblas_get_corename().  NULL: there are none, or the user has set the variable.
 */
const char *blas_core_better(const char *taken);

#endif
