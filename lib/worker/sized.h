/* SPDX-License-Identifier: Apache-2.0 */
/* sized.h - structs of eddis.h that begin with their size, of a program built with another version
 */
#ifndef EDDIS_WORKER_SIZED_H
#define EDDIS_WORKER_SIZED_H

#include <stddef.h>

/* Copy the fields that both sides know.  In: the rest of `to` [to_size] is 0.  Out: -EINVAL when
 * the size of `to` is not set.
 */
void sized_copy_in(void *to, size_t to_size, const void *from);
int sized_copy_out(void *to, const void *from, size_t from_size);

#endif
