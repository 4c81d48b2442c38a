/* SPDX-License-Identifier: Apache-2.0 */
/* core_loss.h - computing capacity of a worker's cores that is lost to it, as the machine reports
 */
#ifndef EDDIS_MODEL_CORE_LOSS_H
#define EDDIS_MODEL_CORE_LOSS_H

/* Causes of a loss */
enum core_loss_kind {
    CORE_LOSS_STOLEN,    /* part of their time: the hypervisor ran another machine */
    CORE_LOSS_THROTTLED, /* part of its control group's periods: quota exhausted */
    CORE_LOSS_OTHERS,    /* part of their time: used by programs outside the job */
    CORE_LOSS_CLOCK,     /* part of the highest clock rate */
    CORE_LOSS_HEAT,      /* part of their time: throttled by heat */
    CORE_LOSSES,
};

/* Losses by cause, each from 0 to 1; NAN: unknown */
struct core_loss {
    double part[CORE_LOSSES];
    double celsius; /* temperature of the machine's hottest processor */
};

#endif
