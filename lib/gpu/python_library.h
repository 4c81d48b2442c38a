/* SPDX-License-Identifier: Apache-2.0 */
/* python_library.h - libraries that the packages of Python installations contain
 *
 * Nodes that train with PyTorch need no toolkit, because PyTorch's packages include its libraries,
 * in folders that the loader does not search.
 */
#ifndef EDDIS_GPU_PYTHON_LIBRARY_H
#define EDDIS_GPU_PYTHON_LIBRARY_H

#include <stdbool.h>

/* Function that tries to load the library of this path.  Returns true on success. */
typedef bool (*python_library_fn)(void *context, const char *path);

/* Call fn with the paths that match this pattern, as of glob, below the folders of packages of the
 * python3 in PATH, of an active virtual or Conda environment, and of the user's ~/.local, until it
 * returns true.  Return whether it did.
 */
bool python_library_find(const char *pattern, python_library_fn fn, void *context);

#endif
