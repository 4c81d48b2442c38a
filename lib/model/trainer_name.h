/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_name.h - recognize eddis-train, the program of this project that trains on the CPUs */
#ifndef EDDIS_MODEL_TRAINER_NAME_H
#define EDDIS_MODEL_TRAINER_NAME_H

#include <stdbool.h>
#include <string.h>

/* Check whether a program, a path or a name, is eddis-train; NULL is not. */
static inline bool trainer_is(const char *program)
{
    const char *name = program ? strrchr(program, '/') : NULL;

    return program && strcmp(name ? name + 1 : program, "eddis-train") == 0;
}

#endif
