/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.c - find and load cuBLAS */
#include "cublas.h"

#include "python_library.h"

#include "lib/base/dlopen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

/* Load the cuBLAS library of this name, store its functions in *b and create a handle.  Return 0;
 * -ENOENT: it cannot be loaded; -ENOTSUP: it lacks a function; -EIO: it does not start.
 */
static int load_one(const char *name, struct blas *b, struct eddis_error *err)
{
    int (*create)(void **ret);
    const struct dlopen_symbol symbols[] = {
        { "cublasCreate_v2", &create, false },
        { "cublasDestroy_v2", &b->destroy, false },
        { "cublasSetStream_v2", &b->set_stream, false },
        { "cublasSgemm_v2", &b->sgemm, false },
        { "cublasGemmEx", &b->gemm, false },
    };
    const char *const names[] = { name, NULL };
    int rc = dlopen_library(names, symbols, sizeof symbols / sizeof *symbols, err);
    int e = rc < 0 ? 0 : create(&b->handle);

    if (rc == 0 && e)
        rc = eddis_fail(err, -EIO, "'%s' does not start (cuBLAS status %d)", name, e);
    return rc;
}

/* The state of the search for a cuBLAS library. */
struct search {
    struct blas *blas; /* the library, once one has been loaded */
    int rc;            /* result so far: 0, or the failure to return */
    bool found;        /* some library exists but could not be used; err has the first failure */
    struct eddis_error *err;
};

/* Try to load the library `name`.  Return true, with rc 0 in the search, on success.  Of failures
 * other than -ENOENT keep the first one in s->rc and s->err.
 */
static bool try_one(void *context, const char *name)
{
    struct search *s = context;
    struct eddis_error e = { 0 };
    int rc = load_one(name, s->blas, &e);

    if (rc == 0)
        s->rc = 0;
    else if (rc != -ENOENT && !s->found) {
        s->rc = eddis_fail(s->err, rc, "%s", e.text);
        s->found = true;
    }
    return rc == 0;
}

/* Try to load cuBLAS of this major version from the loader's search path, then from the CUDA
 * toolkit's folders, which the loader often does not search.  Return true on success.
 */
static bool try_toolkit(struct search *s, int major)
{
    static const char *const folders[] = { "", "/usr/local/cuda/lib64/", CUDA_LIBDIR "/" };
    char name[512];
    bool is = false;

    for (size_t i = 0; i < sizeof folders / sizeof *folders && !is; i++) {
        (void)snprintf(name, sizeof name, "%slibcublas.so.%d", folders[i], major);
        is = try_one(s, name);
    }
    return is;
}

/* Try to load cuBLAS of this major version from PyTorch's packages.  Return true on success. */
static bool try_pythons(struct search *s, int major)
{
    char pattern[64];

    (void)snprintf(pattern, sizeof pattern, "nvidia/*/lib/libcublas.so.%d", major);
    return python_library_find(pattern, try_one, s);
}

int cublas_load(const struct cuda_api *a, int driver_version, struct blas *ret,
                struct eddis_error *err)
{
    struct search s = { .blas = ret, .err = err };
    int newest = driver_version / 1000;

    (void)a;
    s.rc = eddis_fail(err, -ENOENT, "no cuBLAS for CUDA %d is installed", newest);
    for (int major = 13; major >= 11; major--)
        if (major <= newest && (try_toolkit(&s, major) || try_pythons(&s, major)))
            break;
    return s.rc;
}
