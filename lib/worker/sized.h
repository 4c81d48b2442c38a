/* SPDX-License-Identifier: Apache-2.0 */
/* sized.h - structs of eddis.h that begin with their size, of a program built with another version
 */
#ifndef EDDIS_WORKER_SIZED_H
#define EDDIS_WORKER_SIZED_H

#include "lib/base/error.h"

#include <stddef.h>

/* Return 0, or -EINVAL when s is NULL or its size is not set; `what` names it: "step". */
int sized_check(const void *s, const char *what, struct eddis_error *err);

/* Copy the fields that both sides know.  In: the rest of `to` [to_size] is 0.  Out: its size stays.
 */
void sized_copy_in(void *to, size_t to_size, const void *from);
void sized_copy_out(void *to, const void *from, size_t from_size);

#endif
