/* SPDX-License-Identifier: Apache-2.0 */
/* status_screen.c - uses the terminal's alternate screen, and restores the terminal on every exit
 */
#include "status_screen.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Escape codes: `on` enters the alternate screen and hides the cursor, `off` does the reverse. */
static const char on[] = "\033[?1049h\033[?25l", off[] = "\033[?25h\033[?1049l";

/* State of the terminal; static, since the signal handler needs it. */
static struct {
    volatile sig_atomic_t entered, has_keys;
    struct termios keys; /* settings of standard input before screen_enter */
} screen;

/* Signals by which a crash ends the program. */
static const int deadly[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

/* Leave the alternate screen and restore the terminal. A signal handler calls this, so only write
 * and tcsetattr are used.
 */
void screen_leave(void)
{
    if (!screen.entered)
        return;
    screen.entered = 0;
    if (write(STDOUT_FILENO, off, sizeof off - 1) < 0) {
        /* the terminal is gone */
    }
    if (screen.has_keys)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &screen.keys);
}

/* Restore the terminal and end the program by the signal that it got: a handler of fatal signals,
 * which SA_RESETHAND has reset to the default action.
 */
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
        /* drawing will fail too, and is checked */
    }
}

void screen_size(int *ret_rows, int *ret_columns)
{
    struct winsize w;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 && w.ws_col > 0;

    *ret_rows = known ? w.ws_row : 24;
    *ret_columns = known ? w.ws_col : 80;
}
