/* SPDX-License-Identifier: Apache-2.0 */
/* status_screen.c - enters the second screen of a terminal, and leaves it on every way out */
#include "status_screen.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static const char on[] = "\033[?1049h\033[?25l", off[] = "\033[?25h\033[?1049l";

/* A signal handler reaches nothing else than what is static. */
static struct {
    volatile sig_atomic_t entered, has_keys;
    struct termios keys; /* as they were */
} screen;

static const int deadly[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

/* write and tcsetattr are allowed in a signal handler. */
void screen_leave(void)
{
    if (!screen.entered)
        return;
    screen.entered = 0;
    if (write(STDOUT_FILENO, off, sizeof off - 1) < 0) {
        /* the terminal is gone: nobody to tell */
    }
    if (screen.has_keys)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &screen.keys);
}

/* The handler is reset by SA_RESETHAND, so the signal ends the program as it would have. */
static void on_crash(int sig)
{
    screen_leave();
    (void)raise(sig);
}

void screen_enter(void)
{
    struct sigaction crash = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };
    struct termios raw;

    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        (void)sigaction(deadly[i], &crash, NULL);
    screen.has_keys = tcgetattr(STDIN_FILENO, &screen.keys) == 0;
    screen.entered = 1;
    if (screen.has_keys) {
        raw = screen.keys;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    if (write(STDOUT_FILENO, on, sizeof on - 1) < 0) {
        /* painting will fail too, and that is looked at */
    }
}

void screen_size(int *ret_rows, int *ret_columns)
{
    struct winsize w;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 && w.ws_col > 0;

    *ret_rows = known ? w.ws_row : 24;
    *ret_columns = known ? w.ws_col : 80;
}
