/* SPDX-License-Identifier: Apache-2.0 */
/* network_check_json.h - network_check.h to and from JSON, between driver and agents */
#ifndef EDDIS_MODEL_NETWORK_CHECK_JSON_H
#define EDDIS_MODEL_NETWORK_CHECK_JSON_H

#include "lib/base/fields.h"
#include "network_check.h"

#include <stddef.h>

/* Table of the members of struct network_checks */
extern const struct fields network_checks_table;

/* Return the result as JSON text on one line, for the caller to free; NULL without memory. */
char *network_check_text(const struct network_check *c);

/* Parse the output of network_check_text.  Return 0 or a negative errno, -EINVAL: it is malformed;
 * *ret is then unchanged.
 */
int network_check_parse(const char *text, size_t n, struct network_check *ret,
                        struct eddis_error *err);

#endif
