/* SPDX-License-Identifier: Apache-2.0 */
/* link_load.h - load of a worker's connections to other machines */
#ifndef EDDIS_MODEL_LINK_LOAD_H
#define EDDIS_MODEL_LINK_LOAD_H

/* Load of the busiest connection */
struct link_load {
    double busy;        /* fraction of the time spent sending, 0 to 1; NAN: unknown */
    double bytes_per_s; /* acknowledged bytes per second of the time spent sending */
    char peer[46];      /* address of the other end; "": unknown */
};

#endif
