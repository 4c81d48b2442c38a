/* SPDX-License-Identifier: Apache-2.0 */
/* network_check_json.h - network_check.h to and from JSON, between driver and agents */
#ifndef EDDIS_MODEL_NETWORK_CHECK_JSON_H
#define EDDIS_MODEL_NETWORK_CHECK_JSON_H

#include "lib/base/error.h"
#include "lib/base/json.h"
#include "network_check.h"

#include <stddef.h>

/* Return an object of what is asked; NULL without memory. */
json_t *network_checks_json(const struct network_checks *c);
int network_checks_read(const json_t *o, struct network_checks *ret, struct eddis_error *err);

/* Return what was said as one line, to be freed; NULL without memory. */
char *network_check_text(const struct network_check *c);
int network_check_parse(const char *text, size_t n, struct network_check *ret,
                        struct eddis_error *err);

#endif
