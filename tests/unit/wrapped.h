/* SPDX-License-Identifier: Apache-2.0 */
/* wrapped.h - functions in the place of those that the linker wraps (--wrap)
 *
 * A test defines fault(), which says whether a call fails and sets errno, and names the functions.
 */
#ifndef EDDIS_TESTS_WRAPPED_H
#define EDDIS_TESTS_WRAPPED_H

#include <stdbool.h>

static bool fault(void);

#define WRAP(type, name, params, args, failed)                                                     \
    type __real_##name params;                                                                     \
    type __wrap_##name params;                                                                     \
    type __wrap_##name params                                                                      \
    {                                                                                              \
        return fault() ? (failed) : __real_##name args;                                            \
    }

#endif
