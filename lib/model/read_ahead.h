/* SPDX-License-Identifier: Apache-2.0 */
/* read_ahead.h - when a worker reads the centre ahead of the exchange that uses it; see
 * lib/sync/elastic_ahead.h
 */
#ifndef EDDIS_MODEL_READ_AHEAD_H
#define EDDIS_MODEL_READ_AHEAD_H

/* Least duration of a read that goes ahead, as a fraction of a step */
#define READ_AHEAD_LEAST 0.1

/* Factor on the duration of the newest read: the next one may take longer. */
#define READ_AHEAD_MARGIN 1.25

#endif
