/* SPDX-License-Identifier: Apache-2.0 */
/* core_loss.h - what a worker's cores do not give it, as the machine tells */
#ifndef EDDIS_MODEL_CORE_LOSS_H
#define EDDIS_MODEL_CORE_LOSS_H

enum core_loss_kind {
    CORE_LOSS_STOLEN,    /* of their time: the hypervisor ran another machine */
    CORE_LOSS_THROTTLED, /* of its control group's periods: the quota was used up */
    CORE_LOSS_OTHERS,    /* of their time: programs that are not of the job */
    CORE_LOSS_CLOCK,     /* of the highest clock */
    CORE_LOSS_HEAT,      /* of their time: they were too hot */
    CORE_LOSSES,
};

/* Each part from 0 to 1; NAN: unknown. */
struct core_loss {
    double part[CORE_LOSSES];
    double celsius; /* of the machine's hottest processor */
};

#endif
