/* SPDX-License-Identifier: Apache-2.0 */
/* core_loss.h - computing capacity of a worker's cores that the worker cannot use, as the machine
 * reports
 */
#ifndef EDDIS_MODEL_CORE_LOSS_H
#define EDDIS_MODEL_CORE_LOSS_H

/* Causes of a loss */
enum core_loss_kind {
    CORE_LOSS_STOLEN,    /* fraction of the cores' time in which the hypervisor ran another
                          * machine */
    CORE_LOSS_THROTTLED, /* fraction of the periods of the worker's control group in which the quota
                          * was exhausted */
    CORE_LOSS_OTHERS,    /* fraction of the cores' time that programs outside the job used */
    CORE_LOSS_CLOCK,     /* fraction by which the clock rate was below the highest */
    CORE_LOSS_HEAT,      /* fraction of the cores' time in which heat throttled them */
    CORE_LOSSES,
};

/* Losses by cause, each from 0 to 1; NAN: unknown */
struct core_loss {
    double part[CORE_LOSSES];
    double celsius; /* temperature of the machine's hottest processor */
};

#endif
