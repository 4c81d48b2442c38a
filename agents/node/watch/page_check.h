/* SPDX-License-Identifier: Apache-2.0 */
/* page_check.h - a board page that anybody may have written, as a report takes it */
#ifndef EDDIS_AGENTS_NODE_WATCH_PAGE_CHECK_H
#define EDDIS_AGENTS_NODE_WATCH_PAGE_CHECK_H

#include "lib/board/layout.h"

/* Make what the page cannot hold what it may hold. */
void page_make_sane(struct board_page *page);

#endif
