/* SPDX-License-Identifier: Apache-2.0 */
/* json_bytes.h - strings that may not be UTF-8, as JSON */
#ifndef EDDIS_BASE_JSON_BYTES_H
#define EDDIS_BASE_JSON_BYTES_H

#include <jansson.h>

/* Return a string as JSON, or as the object {"hex": "2f746d70"} if it is not UTF-8, as JSON
 * requires but a path or an argument may not be.  NULL without memory.
 */
json_t *json_bytes(const char *s);

/* Return text for people as a JSON string, with '?' for every byte that is not UTF-8.  NULL without
 * memory.
 */
json_t *json_sentence(const char *s);

/* Return a new string from the JSON that json_bytes made, for the caller to free.  NULL if
 * json_bytes cannot have made j, or without memory.
 */
char *json_bytes_copy(const json_t *j);

#endif
