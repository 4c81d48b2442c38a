/* SPDX-License-Identifier: Apache-2.0 */
/* shell_setup.c - makes the arguments that run the user's shell lines before the program */
#include "shell_setup.h"

#include "lib/base/cleanup.h"
#include "lib/base/proctree.h"
#include "lib/base/spawn.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* Start of the shell script.  Its trap turns an exit code 0 of a setup line into 1: otherwise a
 * line that ends the shell would end the rank as if it had trained.
 */
static const char begins[] =
    "set -e\n"
    "trap 'eddis_code=$?; if [ $eddis_code = 0 ]; then eddis_code=1; fi; "
    "echo \"eddis: setup failed with code $eddis_code: $eddis_line\"; exit $eddis_code' EXIT\n";

/* End of the shell script: it replaces the shell by the program. */
static const char ends[] =
    "trap - EXIT\n"
    "set +e\n"
    "unset eddis_line eddis_code\n"
    "if ! command -v \"$1\" >/dev/null 2>&1; then\n"
    "    echo \"eddis: no program '$1' in PATH after setup; install it, or correct the command\"\n"
    "    exit 127\n"
    "fi\n"
    "exec \"$@\"\n";

/* Check whether a shell, by the last part of its path, is of a known kind and can be run; NULL: no.
 */
static bool is_usable(const char *shell)
{
    static const char *const known[] = { "bash", "sh", "dash", "ksh", "zsh" };
    const char *name = shell ? strrchr(shell, '/') : NULL;
    char at[PATH_MAX];

    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strcmp(name + 1, known[i]) == 0)
            return spawn_find(shell, at, sizeof at, NULL) == 0;
    return false;
}

bool setup_runs(pid_t pid)
{
    size_t n = 0;
    cleanup_free char *text = proctree_read(pid, "cmdline", &n);

    return text && memmem(text, n, begins, sizeof begins - 1) != NULL;
}

int setup_argv(char *const *lines, char *const *command, const char *shell, struct strlist *ret,
               struct eddis_error *err)
{
    struct strbuf script = { 0 };
    char at[PATH_MAX];

    if (!is_usable(shell))
        shell = spawn_find("bash", at, sizeof at, NULL) == 0 ? at : "/bin/sh";
    strbuf_add(&script, begins);
    for (; *lines; lines++) {
        strbuf_add(&script, "eddis_line=");
        strbuf_add_quoted(&script, *lines);
        strbuf_addf(&script, "\n%s\n", *lines);
    }
    strbuf_add(&script, ends);
    strlist_addf(ret, "%s", shell);
    strlist_addf(ret, "-c");
    strlist_addf(ret, "%s", strbuf_text(&script));
    strlist_addf(ret, "%s", shell);
    strlist_add_all(ret, command);
    ret->failed = ret->failed || script.failed;
    strbuf_fini(&script);
    return ret->failed ? eddis_fail(err, -ENOMEM, "no memory for the lines of setup") : 0;
}
