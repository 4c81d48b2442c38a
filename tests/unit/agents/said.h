/* SPDX-License-Identifier: Apache-2.0 */
/* said.h - the sentences that a driver's view gets: its say is the function here */
#ifndef EDDIS_TESTS_SAID_H
#define EDDIS_TESTS_SAID_H

#include <stdio.h>

static char said[1024]; /* the last one */
static int n_said;      /* as many were */

static inline void say(void *ctx, const char *sentence)
{
    (void)ctx;
    (void)snprintf(said, sizeof said, "%s", sentence);
    n_said++;
}

static inline void said_forget(void)
{
    said[0] = '\0';
    n_said = 0;
}

#endif
