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
    { "weight-decay", 0, "X", "X times the weight is added to the gradient (default 0)" },
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

/* Parse the whole number of the option `name`, from min to max, into *ret. Return 0 or -EINVAL. */
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

/* Parse the number of the option `name`, from min to max, into *ret. Return 0 or -EINVAL. */
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

/* Store in *ret the index of the option's value in `words`, which has 2 or 3 words and a NULL.
 * Return 0; -EINVAL: it is none of them.
 */
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

/* Parse the size of --memory, such as 512M, into bytes in *ret; the units are powers of 1024.
 * Return 0 or -EINVAL.
 */
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

/* Parse the comma-separated widths of the hidden layers into m. Return 0 or -EINVAL. */
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

/* Where an option's value goes: one of the pointers is set. */
struct slot {
    const char *name;
    const char **text;
    int64_t *whole, least, most;
    double *number, min, max;
    enum dataset_choice *choice;
    bool *flag; /* with words: it becomes true for the second one, else for the option itself */
    const char *const *words;
};

static const char *const choices[] = { "auto", "yes", "no", NULL };
static const char *const ends[] = { "last", "first", NULL };
static const char *const weightings[] = { "samples", "equal", NULL };
static const char *const optimizers[] = { "sgd", "adam", NULL };

/* Store an option's value in its slot. Return 0, or -EINVAL: the value is not a word or number that
 * the slot allows.
 */
static int store(const struct slot *s, const char *value, struct eddis_error *err)
{
    int word = 1, rc = s->words ? want_word(s->name, value, s->words, &word, err) : 0;

    if (rc < 0)
        return rc;
    if (s->text)
        *s->text = value;
    if (s->whole)
        return want_int(s->name, value, s->least, s->most, s->whole, err);
    if (s->number)
        return want_number(s->name, value, s->min, s->max, s->number, err);
    if (s->choice)
        *s->choice = (enum dataset_choice)word;
    if (s->flag)
        *s->flag = word == 1;
    return 0;
}

/* Store an option's value in o, unless the value has a form of its own: then do nothing. Return 0,
 * or -EINVAL: the value is not one that the option allows.
 */
static int take_plain(struct train_options *o, const struct options_item *i,
                      struct eddis_error *err)
{
    struct trainer *t = &o->trainer;
    const struct slot slots[] = {
        { "data", .text = &o->data },
        { "labels", .text = &o->labels },
        { "test-data", .text = &o->test_data },
        { "test-labels", .text = &o->test_labels },
        { "shape", .text = &o->shape },
        { "model", .text = &t->model.name },
        { "checkpoint-dir", .text = &t->checkpoint_folder },
        { "resume", .text = &t->resume },
        { "save", .text = &t->save },
        { "load", .text = &o->load },
        { "test", .whole = &o->test, .most = INT64_MAX },
        { "epochs", .whole = &t->epochs, .least = 1, .most = INT32_MAX },
        { "batch", .whole = &o->batch, .least = 1, .most = INT32_MAX },
        { "seed", .whole = &o->seed, .most = INT64_MAX },
        { "eval-every", .whole = &t->eval_every, .most = INT32_MAX },
        { "threads", .whole = &o->threads, .least = 1, .most = 1024 },
        { "lr", .number = &t->optimizer.rate, .max = 1e6 },
        { "momentum", .number = &t->optimizer.momentum, .max = 0.999999 },
        { "weight-decay", .number = &t->optimizer.weight_decay, .max = 1e6 },
        { "scale", .number = &o->scale, .min = 1e-30, .max = 1e30 },
        { "header", .choice = &o->header, .words = choices },
        { "row-numbers", .choice = &o->row_numbers, .words = choices },
        { "label", .flag = &o->label_first, .words = ends },
        { "optimizer", .flag = &o->adam, .words = optimizers },
        { "weighting", .flag = &t->weigh_equally, .words = weightings },
        { "test-only", .flag = &o->test_only },
        { "quiet", .flag = &o->quiet },
        { "version", .flag = &o->version },
        { "help", .flag = &o->help },
    };

    for (size_t k = 0; k < sizeof slots / sizeof *slots; k++)
        if (options_is(i, slots[k].name))
            return store(&slots[k], i->value, err);
    return 0;
}

/* Set o->scaling to the kind that --scale names. Return false if text is none of the words, so that
 * it must be a number.
 */
static bool take_scale_word(struct train_options *o, const char *text)
{
    static const char *const words[] = { "auto", "column", "none" };

    for (o->scaling = SCALE_AUTO; o->scaling < SCALE_NUMBER; o->scaling++)
        if (strcmp(text, words[o->scaling]) == 0)
            return true;
    return false;
}

/* Store one option of the command line in o. Return 0; -EINVAL: it is no option, or its value is
 * wrong.
 */
static int take(struct train_options *o, const struct options_item *i, struct eddis_error *err)
{
    if (!i->row)
        return eddis_fail(err, -EINVAL, "'%s' is not an option; name the data with --data",
                          i->value);
    if (options_is(i, "widths"))
        return want_widths(i->value, &o->trainer.model, err);
    if (options_is(i, "memory"))
        return want_bytes(i->value, &o->memory_bytes, err);
    if (options_is(i, "scale") && take_scale_word(o, i->value))
        return 0;
    return take_plain(o, i, err);
}

/* Check the options for contradictions to --load and --test-only. Return 0 or -EINVAL. */
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

/* Check for missing and contradicting options. Return 0, also with --help or --version; -EINVAL. */
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
    o.trainer.optimizer.kind = o.adam ? OPTIMIZER_ADAM : OPTIMIZER_SGD;
    if (o.trainer.optimizer.rate < 0)
        o.trainer.optimizer.rate = o.adam ? 0.001 : 0.1;
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
