/* SPDX-License-Identifier: Apache-2.0 */
/* train_options.c - parses and checks eddis-train's command line */
#include "train_options.h"

#include "cmd/shared/options.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/trust.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct option_row rows[] = {
    { "data", 0, "FILE", "training data: CSV, or IDX images with --labels; .gz too" },
    { "labels", 0, "FILE", "IDX labels of --data" },
    { "test", 0, "N", "the last N rows of --data are the test set (default 0)" },
    { "test-data", 0, "FILE", "separate test data" },
    { "test-labels", 0, "FILE", "IDX labels of --test-data" },
    { "label", 0, "first|last", "column of the label in a CSV row (default last)" },
    { "header", 0, "auto|yes|no", "whether the first line of CSV has column names" },
    { "row-numbers", 0, "auto|yes|no", "whether the first column numbers the rows of CSV" },
    { "scale", 0, "auto|column|none|X",
      "multiply features by X; with auto or column the largest becomes 1" },
    { "shape", 0, "HxWxC", "height, width and channels of a sample, for cnn" },
    { "model", 0, "NAME", "softmax, mlp or cnn (default mlp)" },
    { "widths", 0, "N,...", "hidden layers of mlp (default 128,64); of cnn 16,32,64" },
    { "optimizer", 0, "NAME", "sgd or adam (default sgd)" },
    { "lr", 0, "X", "learning rate (default 0.1; adam 0.001)" },
    { "momentum", 0, "X", "momentum of sgd (default 0.9)" },
    { "weight-decay", 0, "X", "added to the gradient times the weight (default 0)" },
    { "weighting", 0, "samples|equal",
      "weights of the workers' gradients; equal is common but inexact" },
    { "epochs", 0, "N", "passes over the training data (default 20)" },
    { "batch", 0, "N", "samples per step of all workers, without eddis-run (default 64 each)" },
    { "seed", 0, "N", "seed of weights and sample order, without eddis-run (default 0)" },
    { "eval-every", 0, "N", "test after every N epochs and the last; 0: the last (default 1)" },
    { "checkpoint-dir", 0, "DIR", "write a checkpoint to this folder after each epoch" },
    { "resume", 0, "DIR", "continue from this checkpoint" },
    { "save", 0, "FILE", "write the final parameters, in the safetensors format" },
    { "load", 0, "FILE", "start with the parameters that --save wrote to this file" },
    { "test-only", 0, NULL, "train nothing: print the test accuracy of --load" },
    { "memory", 0, "SIZE", "keep data up to this size in memory, as 512M (default 1G)" },
    { "threads", 0, "N", "threads for large matrix products (default: the cores)" },
    { "quiet", 'q', NULL, "print no line for each epoch" },
    { "version", 'V', NULL, "print the version" },
    { "help", 'h', NULL, "print this help" },
};

static const char *const uses[] = { "--data FILE [OPTION]...",
                                    "--test-only --load FILE --data FILE [OPTION]...", NULL };

static const struct option_table table = {
    .program = "eddis-train",
    .summary = "train a small model on a CSV or IDX file, alone or as a worker of eddis-run",
    .use = uses,
    .row = rows,
    .n = sizeof rows / sizeof *rows,
};

void train_options_help(void)
{
    options_help(&table, stdout);
}

/* ---- values -------------------------------------------------------------------------------- */

/* Parse the whole number of an option, from min to max. */
static int want_int(const char *name, const char *text, int64_t min, int64_t max, int64_t *ret,
                    struct eddis_error *err)
{
    char *end;
    long long v;

    errno = 0;
    v = strtoll(text, &end, 10);
    if (end == text || *end || errno || v < min || v > max)
        return eddis_fail(err, -EINVAL, "--%s is '%s'; it must be a whole number from %lld to %lld",
                          name, text, (long long)min, (long long)max);
    *ret = v;
    return 0;
}

/* Parse the number of an option, from min to max. */
static int want_number(const char *name, const char *text, double min, double max, double *ret,
                       struct eddis_error *err)
{
    char *end;
    double v = strtod(text, &end);

    if (end == text || *end || !(v >= min && v <= max))
        return eddis_fail(err, -EINVAL, "--%s is '%s'; it must be a number from %g to %g", name,
                          text, min, max);
    *ret = v;
    return 0;
}

/* Write the index of the option's value in the list of words. Fail if it is none of them. */
static int want_word(const char *name, const char *text, const char *const *words, int *ret,
                     struct eddis_error *err)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret = i;
            return 0;
        }
    }
    return eddis_fail(err, -EINVAL, "--%s is '%s'; it must be %s%s%s or %s", name, text, words[0],
                      words[2] ? ", " : "", words[2] ? words[1] : "", words[words[2] ? 2 : 1]);
}

/* Parse the size of --memory, such as 512M, into bytes; the units are powers of 1024. */
static int want_bytes(const char *text, int64_t *ret, struct eddis_error *err)
{
    static const char units[] = "KMGT";
    char *end;
    double v = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;

    if (unit && *unit)
        for (const char *u = units; u <= unit; u++)
            v *= 1024;
    if (end == text || (*end && (!unit || end[1])) || !(v >= 1 && v <= 1e15))
        return eddis_fail(err, -EINVAL, "--memory is '%s'; it must be a size such as 512M or 2G",
                          text);
    *ret = (int64_t)v;
    return 0;
}

/* Parse the comma-separated widths of the hidden layers. */
static int want_widths(const char *text, struct model_spec *m, struct eddis_error *err)
{
    int rc = model_spec_widths(text, m);

    if (rc == -E2BIG)
        return eddis_fail(err, -EINVAL, "--widths has more than %d numbers", MODEL_MAX_LAYERS - 1);
    return rc < 0 ? eddis_fail(
                        err, -EINVAL,
                        "--widths is '%s'; it must be numbers from 1 to %d, separated by commas",
                        text, MODEL_MAX_WIDTH)
                  : 0;
}

/* ---- the options --------------------------------------------------------------------------- */

/* Store an option whose value is a file, a folder or a text. Return 1; 0: it is another option. */
static int take_file(struct train_options *o, const struct options_item *i)
{
    const struct {
        const char *name, **slot;
    } files[] = {
        { "data", &o->data },
        { "labels", &o->labels },
        { "test-data", &o->test_data },
        { "test-labels", &o->test_labels },
        { "shape", &o->shape },
        { "model", &o->trainer.model.name },
        { "checkpoint-dir", &o->trainer.checkpoint_folder },
        { "resume", &o->trainer.resume },
        { "save", &o->trainer.save },
        { "load", &o->load },
    };

    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        if (options_is(i, files[k].name)) {
            *files[k].slot = i->value;
            return 1;
        }
    }
    return 0;
}

/* Store an option whose value is a whole number. Return 1; 0: it is another option. */
static int take_int(struct train_options *o, const struct options_item *i, struct eddis_error *err)
{
    int64_t threads = 0, seed = 0;
    const struct {
        const char *name;
        int64_t min, max, *slot;
    } ints[] = {
        { "test", 0, INT64_MAX, &o->test },
        { "epochs", 1, INT32_MAX, &o->trainer.epochs },
        { "batch", 1, INT32_MAX, &o->batch },
        { "seed", 0, INT64_MAX, &seed },
        { "eval-every", 0, INT32_MAX, &o->trainer.eval_every },
        { "threads", 1, 1024, &threads },
    };

    for (size_t k = 0; k < sizeof ints / sizeof *ints; k++) {
        int rc;

        if (!options_is(i, ints[k].name))
            continue;
        rc = want_int(ints[k].name, i->value, ints[k].min, ints[k].max, ints[k].slot, err);
        if (rc == 0 && ints[k].slot == &threads)
            o->threads = (int)threads;
        if (rc == 0 && ints[k].slot == &seed)
            o->seed = (uint64_t)seed;
        return rc < 0 ? rc : 1;
    }
    return 0;
}

/* Set the kind of scaling. Return false if text is no word, so that it must be a number. */
static bool take_scale_word(struct train_options *o, const char *text)
{
    static const char *const words[] = { "auto", "column", "none" };
    static const enum train_scale meaning[] = { SCALE_AUTO, SCALE_COLUMN, SCALE_NONE };

    o->scaling = SCALE_NUMBER;
    for (int i = 0; i < 3; i++)
        if (strcmp(text, words[i]) == 0)
            o->scaling = meaning[i];
    return o->scaling != SCALE_NUMBER;
}

/* Store an option whose value is a number. Return 1; 0: it is another option. */
static int take_number(struct train_options *o, const struct options_item *i,
                       struct eddis_error *err)
{
    struct optimizer *p = &o->trainer.optimizer;
    const struct {
        const char *name;
        double min, max, *slot;
    } numbers[] = {
        { "lr", 0, 1e6, &p->rate },
        { "momentum", 0, 0.999999, &p->momentum },
        { "weight-decay", 0, 1e6, &p->weight_decay },
        { "scale", 1e-30, 1e30, &o->scale },
    };

    if (options_is(i, "scale") && take_scale_word(o, i->value))
        return 1;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        if (options_is(i, numbers[k].name)) {
            int rc = want_number(numbers[k].name, i->value, numbers[k].min, numbers[k].max,
                                 numbers[k].slot, err);
            return rc < 0 ? rc : 1;
        }
    }
    return 0;
}

/* Store --header or --row-numbers. Return 1; 0: it is another option. */
static int take_choice(struct train_options *o, const struct options_item *i,
                       struct eddis_error *err)
{
    static const char *const words[] = { "auto", "yes", "no", NULL };
    static const enum dataset_choice meaning[] = { DATASET_AUTO, DATASET_YES, DATASET_NO };
    const char *name = options_is(i, "header") ? "header" : "row-numbers";
    int word = 0, rc;

    if (!options_is(i, name))
        return 0;
    rc = want_word(name, i->value, words, &word, err);
    if (rc == 0)
        *(name[0] == 'h' ? &o->header : &o->row_numbers) = meaning[word];
    return rc < 0 ? rc : 1;
}

/* Store one of the remaining options. */
static int take_rest(struct train_options *o, const struct options_item *i, struct eddis_error *err)
{
    static const char *const ends[] = { "last", "first", NULL };
    static const char *const weightings[] = { "samples", "equal", NULL };
    static const char *const optimizers[] = { "sgd", "adam", NULL };
    int word = 0, rc = 0;

    if (options_is(i, "label")) {
        rc = want_word("label", i->value, ends, &word, err);
        o->label_first = word == 1;
    } else if (options_is(i, "optimizer")) {
        rc = want_word("optimizer", i->value, optimizers, &word, err);
        o->trainer.optimizer.kind = word ? OPTIMIZER_ADAM : OPTIMIZER_SGD;
    } else if (options_is(i, "weighting")) {
        rc = want_word("weighting", i->value, weightings, &word, err);
        o->trainer.weigh_equally = word == 1;
    } else if (options_is(i, "widths")) {
        rc = want_widths(i->value, &o->trainer.model, err);
    } else if (options_is(i, "memory")) {
        rc = want_bytes(i->value, &o->memory_bytes, err);
    } else if (options_is(i, "test-only")) {
        o->test_only = true;
    } else if (options_is(i, "quiet")) {
        o->quiet = true;
    } else if (options_is(i, "version")) {
        o->version = true;
    } else if (options_is(i, "help")) {
        o->help = true;
    }
    return rc;
}

/* Store one option of the command line. Fail for a word that is no option. */
static int take(struct train_options *o, const struct options_item *i, struct eddis_error *err)
{
    int rc;

    if (!i->row)
        return eddis_fail(err, -EINVAL, "'%s' is not an option; name the data with --data",
                          i->value);
    rc = take_file(o, i);
    if (rc == 0)
        rc = take_int(o, i, err);
    if (rc == 0)
        rc = take_number(o, i, err);
    if (rc == 0)
        rc = take_choice(o, i, err);
    if (rc == 0)
        rc = take_rest(o, i, err);
    return rc < 0 ? rc : 0;
}

/* Reject options that contradict --load or --test-only. */
static int check_load(const struct train_options *o, struct eddis_error *err)
{
    const struct trainer *t = &o->trainer;

    if (o->load && (t->model.name || t->model.n_widths || o->shape))
        return eddis_fail(err, -EINVAL, "the file of --load defines the model; leave %s out",
                          t->model.name       ? "--model"
                          : t->model.n_widths ? "--widths"
                                              : "--shape");
    if (o->load && t->resume)
        return eddis_fail(err, -EINVAL, "--load and --resume exclude each other");
    if (o->test_only && !o->load)
        return eddis_fail(err, -EINVAL, "--test-only tests a model; name it with --load FILE");
    if (o->test_only && (t->save || t->checkpoint_folder))
        return eddis_fail(err, -EINVAL, "--test-only trains nothing; leave %s out",
                          t->save ? "--save" : "--checkpoint-dir");
    return 0;
}

/* Reject missing and contradicting options. */
static int check(const struct train_options *o, struct eddis_error *err)
{
    if (o->help || o->version)
        return 0;
    if (!o->data)
        return eddis_fail(err, -EINVAL, "no data are named; write --data FILE");
    if (o->test_data && o->test)
        return eddis_fail(err, -EINVAL, "--test and --test-data exclude each other");
    if (o->test_labels && !o->test_data)
        return eddis_fail(err, -EINVAL, "--test-labels needs --test-data");
    if (o->test_data && !o->labels != !o->test_labels)
        return eddis_fail(err, -EINVAL,
                          "--labels and --test-labels need each other; give both or neither");
    if (o->scaling == SCALE_COLUMN && o->labels)
        return eddis_fail(err, -EINVAL, "--scale column is only for CSV; leave it or --labels out");
    return check_load(o, err);
}

int train_options_parse(int argc, char **argv, struct train_options *ret, struct eddis_error *err)
{
    struct options options = { .table = &table, .argc = argc, .argv = argv };
    struct train_options o = {
        .trainer = { .optimizer = { .rate = -1, .momentum = 0.9 }, .epochs = 20, .eval_every = 1 }
    };
    struct options_item item;
    int rc;

    while ((rc = options_next(&options, &item, err)) == 1) {
        rc = take(&o, &item, err);
        if (rc < 0)
            return rc;
    }
    if (rc == 0)
        rc = check(&o, err);
    if (rc < 0)
        return rc;
    if (!o.trainer.model.name)
        o.trainer.model.name = "mlp";
    if (o.trainer.optimizer.rate < 0)
        o.trainer.optimizer.rate = o.trainer.optimizer.kind == OPTIMIZER_ADAM ? 0.001 : 0.1;
    *ret = o;
    return 0;
}

int train_options_check_resume(const struct train_options *o, struct eddis_error *err)
{
    const char *path = o->trainer.resume;
    struct stat st;

    if (stat(path, &st) < 0)
        return eddis_fail_errno(err, -errno, "--resume: cannot open checkpoint '%s'", path);
    return S_ISDIR(st.st_mode)
               ? 0
               : eddis_fail(err, -EINVAL,
                            "--resume: '%s' is not a folder, so it is not a checkpoint", path);
}

int train_options_check_output(const struct train_options *o, struct eddis_error *err)
{
    const char *save = o->trainer.save, *dir = o->trainer.checkpoint_folder;
    int rc = 0;

    if (save)
        rc = file_try(save, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "--save");
    if (dir)
        rc = file_mkdirs(dir, TRUST_DIR_MODE, err);
    if (dir && rc == 0) {
        cleanup_free char *path = file_join(dir, "try");

        rc = path ? file_try(path, err) : eddis_fail(err, -ENOMEM, "out of memory");
    }
    return rc < 0 ? eddis_fail_prefix(err, rc, "--checkpoint-dir %s", dir) : 0;
}
