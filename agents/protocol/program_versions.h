/* SPDX-License-Identifier: Apache-2.0 */
/* program_versions.h - versions that the job's Python has on one node, for `eddis-run --check` */
#ifndef EDDIS_AGENTS_PROTOCOL_PROGRAM_VERSIONS_H
#define EDDIS_AGENTS_PROTOCOL_PROGRAM_VERSIONS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Versions as "2.27.5"; "": not installed, or unknown */
struct program_versions {
    char python[32], torch[64], cuda[32], nccl[32];
    char trouble[240]; /* why torch is installed but cannot be imported; "": none */
};

/* Parse n bytes of JSON into *ret. Return 0 or a negative errno; *ret is written only on success.
 */
int program_versions_parse(const char *text, size_t n, struct program_versions *ret,
                           struct eddis_error *err);

/* Return v as JSON text on one line, for the caller to free; NULL without memory. */
char *program_versions_text(const struct program_versions *v);

/* Check whether torch.distributed cannot combine gradients between nodes that have a and b: their
 * versions of NCCL differ, or the first two numbers of their versions of torch. What a node does
 * not have is not compared. If so, set *name to the library's name, and *ret_a and *ret_b to its
 * versions, borrowed from a and b.
 */
bool program_versions_differ(const struct program_versions *a, const struct program_versions *b,
                             const char **name, const char **ret_a, const char **ret_b);

#endif
