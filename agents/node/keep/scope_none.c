/* SPDX-License-Identifier: Apache-2.0 */
/* scope_none.c - replacement in a build without libsystemd: there are no scopes */
#include "scope.h"

void scope_enter(const char *group)
{
    (void)group;
}
