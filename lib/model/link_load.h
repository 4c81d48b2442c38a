/* SPDX-License-Identifier: Apache-2.0 */
/* link_load.h - how busy a worker's way to another machine is */
#ifndef EDDIS_MODEL_LINK_LOAD_H
#define EDDIS_MODEL_LINK_LOAD_H

/* Of the connection that has most to do. */
struct link_load {
    double busy;        /* part of the time in which what was sent was under way; NAN: unknown */
    double bytes_per_s; /* that arrived in this time */
    char peer[46];      /* address that it goes to; "": unknown */
};

#endif
