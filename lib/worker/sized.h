/* SPDX-License-Identifier: Apache-2.0 */
/* sized.h - structs of eddis.h that begin with their size, from a program built with another
 * version
 */
#ifndef EDDIS_WORKER_SIZED_H
#define EDDIS_WORKER_SIZED_H

#include "lib/base/error.h"

#include <stddef.h>

/* Return 0, or -EINVAL if s is NULL or its size is not set; `what` is the name of s in the message,
 * such as "step".
 */
int sized_check(const void *s, const char *what, struct eddis_error *err);

/* Copy the fields that both versions have from a program's struct; the rest of `to` [to_size] is
 * set to 0.
 */
void sized_copy_in(void *to, size_t to_size, const void *from);

/* Copy the fields that both versions have to a program's struct, except its size field. */
void sized_copy_out(void *to, const void *from, size_t from_size);

#endif
