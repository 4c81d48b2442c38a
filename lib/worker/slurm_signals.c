/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_signals.c - a signal handler that checks which process sent the signal */
#include "slurm_signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static const int passing[] = { SIGTERM, SIGUSR1 };

enum { PASSING = sizeof passing / sizeof *passing };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards users */
static int users; /* calls of slurm_signals_start without their slurm_signals_stop */
static volatile sig_atomic_t slurm; /* pid of Slurm's sender; written while no handler is set */

/* Handle a signal in a worker: ignore it if it is from Slurm, otherwise let its default action end
 * the process.  Uses only async-signal-safe calls; also runs in forked children.
 */
static void on_signal(int sig, siginfo_t *info, void *context)
{
    const struct sigaction by_default = { .sa_handler = SIG_DFL };
    int before = errno;
    sigset_t this;

    if (info->si_code == SI_USER && info->si_pid == (pid_t)slurm)
        return;
    (void)sigaction(sig, &by_default, NULL);
    (void)raise(sig);
    sigemptyset(&this);
    sigaddset(&this, sig);
    (void)pthread_sigmask(SIG_UNBLOCK, &this, NULL); /* with SIG_DFL the process ends here */
    errno = before;
}

/* Install the action `to` if the signal's handler is still `from` (NULL: the default action). */
static void replace(int sig, void (*from)(int, siginfo_t *, void *), const struct sigaction *to)
{
    struct sigaction now;

    if (sigaction(sig, NULL, &now) < 0)
        return;
    if (from ? (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == from
             : !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
        (void)sigaction(sig, to, NULL);
}

static struct sigaction before; /* former action of SIGTERM, in a child process of a worker */

/* Handle SIGTERM in a child process of a worker: ignore it if it is from Slurm, otherwise do what
 * the action `before` did.
 */
static void on_signal_of_runtime(int sig, siginfo_t *info, void *context)
{
    bool is_action = (before.sa_flags & SA_SIGINFO) != 0;

    if (info->si_code == SI_USER && info->si_pid == (pid_t)slurm)
        return;
    if (is_action)
        before.sa_sigaction(sig, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(sig);
    else if (before.sa_handler == SIG_DFL)
        on_signal(sig, info, context);
}

/* Return the action that calls on_signal. */
static struct sigaction pass_action(void)
{
    struct sigaction pass = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };

    sigemptyset(&pass.sa_mask);
    return pass;
}

void slurm_signals_start(pid_t sender)
{
    const struct sigaction pass = pass_action();

    pthread_mutex_lock(&lock);
    if (users++ == 0) {
        slurm = sender;
        for (int i = 0; i < PASSING; i++)
            replace(passing[i], NULL, &pass);
    }
    pthread_mutex_unlock(&lock);
}

void slurm_signals_take(pid_t sender)
{
    const struct sigaction pass = pass_action();
    struct sigaction now;

    slurm = sender;
    replace(SIGUSR1, NULL, &pass);
    if (sigaction(SIGTERM, NULL, &now) < 0 ||
        ((now.sa_flags & SA_SIGINFO) &&
         (now.sa_sigaction == on_signal || now.sa_sigaction == on_signal_of_runtime)))
        return;
    before = now;
    now.sa_flags |= SA_SIGINFO;
    now.sa_sigaction = on_signal_of_runtime;
    (void)sigaction(SIGTERM, &now, NULL);
}

void slurm_signals_stop(void)
{
    const struct sigaction by_default = { .sa_handler = SIG_DFL };

    pthread_mutex_lock(&lock);
    if (--users == 0)
        for (int i = 0; i < PASSING; i++)
            replace(passing[i], on_signal, &by_default);
    pthread_mutex_unlock(&lock);
}
