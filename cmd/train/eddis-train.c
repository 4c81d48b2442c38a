/* SPDX-License-Identifier: Apache-2.0 */
/* eddis-train.c - the embedded trainer's program: reads options and data, trains, prints */
#include "cmd/shared/options.h"
#include "cmd/train/model/evaluation.h"
#include "cmd/train/model/matmul.h"
#include "lib/base/address_space.h"
#include "lib/base/blas_core.h"
#include "lib/base/error.h"
#include "lib/base/exit_code.h"
#include "lib/base/program.h"
#include "lib/eddis.h"
#include "train_options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM_BYTES = 128000000 }; /* address space that MPI and the threads of OpenBLAS need */

/* Print the error on standard error and return `code`, the exit code. */
static int complain(const struct eddis_error *err, int code)
{
    options_complain("eddis-train", err, stderr);
    return code;
}

/* Flush standard output. Return the exit code: `code`, or EXIT_FAULT if that is 0 and output was
 * lost.
 */
static int close_output(int code)
{
    struct eddis_error err = { 0 };

    if (options_flush(&err) == 0)
        return code;
    return complain(&err, code ? code : EXIT_FAULT);
}

/* Print the results of an epoch as one line on standard output; nothing if quiet. trainer.on_epoch,
 * called on rank 0; arg: struct train_options.
 */
static void print_epoch(void *arg, const struct trainer_epoch *r)
{
    const struct train_options *o = arg;

    if (o->quiet)
        return;
    (void)printf("epoch %lld/%lld  loss %.4f", (long long)r->epoch, (long long)o->trainer.epochs,
                 r->loss);
    if (r->tested)
        (void)printf("  test accuracy %.4f  test loss %.4f", r->accuracy, r->test_loss);
    if (r->samples_per_s > 0)
        (void)printf("  %.0f samples/s", r->samples_per_s);
    (void)printf("\n");
    (void)fflush(stdout);
}

/* Print a remark about the training or the data on standard error. trainer.on_note, called on rank
 * 0, and the callback of train_data_report.
 */
static void print_note(void *arg, const char *text)
{
    (void)arg;
    (void)fprintf(stderr, "eddis-train: %s\n", text);
}

/* Return the exit code for rc, a negative error of trainer_run. */
static int exit_code(int rc)
{
    return rc == -EINVAL ? EXIT_USAGE : rc == -ENOMEM ? EDDIS_EXIT_MEMORY : EXIT_FAULT;
}

/* Print remarks about how the data were interpreted on standard error, on rank 0 only. */
static void tell(const struct train_options *o, const struct eddis *e)
{
    struct eddis_world world = { .size = sizeof world };

    if (eddis_world(e, &world) >= 0 && world.rank == 0)
        train_data_report(o, print_note, NULL);
}

/* Train as a worker of the job (or alone), and block until the job ends. Return the exit code: 0,
 * or EXIT_FAULT if libeddis or memory cannot be set up. If the training fails, abort the whole job
 * and do not return. The data were checked before: every worker reads the same file, so all find
 * the same fault and exit with the same code.
 */
static int train(struct train_options *o)
{
    struct eddis_options e_options = { .size = sizeof e_options,
                                       .samples = o->trainer.data.n_train,
                                       .epochs = o->trainer.epochs,
                                       .batch = o->batch,
                                       .seed = (uint64_t)o->seed,
                                       .own_pace = 1,
                                       .pieces = 1,
                                       .read_ahead = 1 };
    struct eddis_error err = { 0 };
    struct eddis *e = NULL;
    int rc = matmul_warm_up(&err);

    if (rc == 0)
        rc = eddis_open(&e_options, &e, &err);
    if (rc < 0)
        return complain(&err, EXIT_FAULT);
    tell(o, e);
    rc = trainer_run(&o->trainer, e, &err);
    if (rc < 0)
        eddis_abort(e, complain(&err, exit_code(rc)));
    return 0;
}

/* Evaluate the loaded model on the test data in this process alone (--test-only), and print the
 * result on standard output. Return the exit code: 0 or EXIT_FAULT.
 */
static int test(struct train_options *o)
{
    const struct trainer_data *d = &o->trainer.data;
    struct evaluation e = { 0 };
    struct eddis_error err = { 0 };
    struct loss sum = { 0 };
    int rc = evaluation_init(&e, o->loaded.model, d->test, d->first_test, d->input.scale, &err);

    if (rc == 0)
        rc = evaluation_run(&e, 0, d->n_test, &sum, &err);
    evaluation_fini(&e);
    if (rc < 0)
        return complain(&err, EXIT_FAULT);
    train_data_report(o, print_note, NULL);
    (void)printf("test accuracy %.4f  test loss %.4f  %lld of %lld right\n",
                 (double)sum.hits / (double)d->n_test, sum.sum / (double)d->n_test,
                 (long long)sum.hits, (long long)d->n_test);
    return 0;
}

/* Check whether this is the job's first generation, or runs without a job. A later generation
 * continues from the job's own checkpoint, even if the one that --resume names is gone.
 */
static bool begins(void)
{
    const char *generation = getenv("EDDIS_GENERATION");

    return !generation || strcmp(generation, "1") == 0;
}

/* If OpenBLAS does not know the processor, run this program anew (exec) with OpenBLAS kernels that
 * suit it. Only print a hint if that fails, or if another program runs this one, such as a loader
 * or valgrind. Return if nothing is to be changed, or after the hint.
 */
static void take_kernels(char **argv)
{
    const char *core = blas_core_better(matmul_core());
    char self[PATH_MAX];
    ssize_t n = core ? readlink("/proc/self/exe", self, sizeof self - 1) : 0;

    if (n <= 0)
        return;
    self[n] = '\0';
    if (strcmp(basename(self), program_invocation_short_name) == 0 &&
        setenv(BLAS_CORE_VARIABLE, core, 1) == 0)
        (void)execv(self, argv);
    (void)unsetenv(BLAS_CORE_VARIABLE);
    fprintf(stderr, "eddis-train: OpenBLAS does not know this processor; %s=%s makes it faster\n",
            BLAS_CORE_VARIABLE, core);
}

/* Train a model, or test one with --test-only, as the options request. Return the exit code;
 * EXIT_USAGE: wrong options or data; EXIT_FAULT: too little memory.
 */
int main(int argc, char **argv)
{
    struct train_options o = { 0 };
    struct eddis_error err = { 0 };
    int code;

    program_outlive_file_limit();
    /* Exit by _exit: OpenBLAS's threads may wait for memory forever, and exit() would wait for
     * them. */
    if (train_options_parse(argc, argv, &o, &err) < 0)
        _exit(complain(&err, EXIT_USAGE));
    if (o.help)
        train_options_help();
    if (o.version)
        (void)printf("eddis-train %s\n", EDDIS_VERSION);
    if (o.help || o.version)
        _exit(close_output(0));
    if (address_space_check(ROOM_BYTES, "a training", &err) < 0)
        _exit(complain(&err, EXIT_FAULT));
    take_kernels(argv);
    if (o.trainer.resume && begins() && train_options_check_resume(&o, &err) < 0)
        return complain(&err, EXIT_USAGE);
    if (train_options_check_output(&o, &err) < 0)
        return complain(&err, EXIT_USAGE);
    matmul_set_threads(o.threads ? (int)o.threads : matmul_default_threads());
    if (train_data_open(&o, &err) < 0)
        return complain(&err, EXIT_USAGE);
    o.trainer.on_epoch = print_epoch;
    o.trainer.on_note = print_note;
    o.trainer.arg = &o;
    code = o.test_only ? test(&o) : train(&o);
    train_data_close(&o);
    return close_output(code);
}
