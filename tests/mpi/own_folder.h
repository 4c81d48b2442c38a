/* SPDX-License-Identifier: Apache-2.0 */
/* own_folder.h - folders of a test program that go with it, also when it is killed */
#ifndef EDDIS_TESTS_OWN_FOLDER_H
#define EDDIS_TESTS_OWN_FOLDER_H

#include <stddef.h>

/* Make a new folder and write its path to ret [size], 32 at least.  Whoever is done with it may
 * remove it; it is removed at the latest when this process and its children are gone, by a shell
 * that waits for that.  The first call comes before there are threads.  Returns 0, or -1.
 */
int own_folder_make(char *ret, size_t size);

#endif
