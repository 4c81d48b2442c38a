/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c - registers the layers of a model without real computing */
#include "layers.h"

#include <stdio.h>

int layers_register(struct eddis *e, float *value, int n, size_t elements, struct eddis_error *err)
{
    int rc = 0;

    for (int i = 0; rc >= 0 && i < n; i++) {
        struct eddis_parameter p = { .size = sizeof p,
                                     .name = "weight",
                                     .dtype = EDDIS_FLOAT32,
                                     .n_dims = 1,
                                     .dims = { (int64_t)elements },
                                     .value = value + (size_t)i * elements };
        char name[16];

        (void)snprintf(name, sizeof name, "layer%d", i);
        rc = eddis_add_layer(e, name, EDDIS_LAYER_DENSE, err);
        if (rc >= 0)
            rc = eddis_add_parameter(e, rc, &p, err);
    }
    return rc < 0 ? rc : eddis_commit(e, err);
}
