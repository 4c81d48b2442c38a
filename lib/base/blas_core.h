/* SPDX-License-Identifier: Apache-2.0 */
/* blas_core.h - kernels for a processor that OpenBLAS does not know
 *
 * When it is loaded OpenBLAS chooses its kernels by the number of the processor's model.  One that
 * is newer than the library gets those of the first processors of 64 bits, at a fifth of the
 * speed: so OpenBLAS 0.3.21, of Debian 12, on Intel's processors from 2023 on.
 */
#ifndef EDDIS_BASE_BLAS_CORE_H
#define EDDIS_BASE_BLAS_CORE_H

#define BLAS_CORE_VARIABLE "OPENBLAS_CORETYPE" /* read when OpenBLAS is loaded */

/* Return the value of that variable for better kernels than those of `taken`, a name as
 * openblas_get_corename() returns it.  NULL: there are none, or the user has chosen.
 */
const char *blas_core_better(const char *taken);

#endif
