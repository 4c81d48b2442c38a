/* SPDX-License-Identifier: Apache-2.0 */
/* page_check.h - validates a progress page, which the user's process has written */
#ifndef EDDIS_AGENTS_NODE_WATCH_PAGE_CHECK_H
#define EDDIS_AGENTS_NODE_WATCH_PAGE_CHECK_H

#include "lib/board/layout.h"

/* Replace values of a progress page that are out of range: the user's process writes the page, and
 * the driver would reject a report with such values.
 */
void page_check_repair(struct board_page *page);

#endif
