/* SPDX-License-Identifier: Apache-2.0 */
/* compare_table.h - a comparison as text for people */
#ifndef EDDIS_CMD_RUN_COMPARE_COMPARE_TABLE_H
#define EDDIS_CMD_RUN_COMPARE_COMPARE_TABLE_H

#include "cmd/run/compare/compare_json.h"
#include "lib/base/strbuf.h"

/* Append the table of the modes, why modes failed or were not run, and which mode was best. */
void compare_table(const struct compare *c, struct strbuf *b);

/* Append one line about a run that has ended: "sync, seed 0: accuracy 0.9 after 2.1 s". */
void compare_run_line(const struct compare *c, const struct compare_run *r, struct strbuf *b);

#endif
