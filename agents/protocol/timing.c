/* SPDX-License-Identifier: Apache-2.0 */
/* timing.c - computes every time limit from the lease */
#include "timing.h"

int64_t timing_least_ns(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

int64_t timing_poll_ns(int64_t lease_ns)
{
    return lease_ns / TIMING_POLLS;
}

int64_t timing_surely_over_ns(int64_t lease_ns)
{
    return clock_after_ns(lease_ns, lease_ns / TIMING_MARGINS);
}

int64_t timing_pause_ns(int64_t lease_ns)
{
    return lease_ns / TIMING_PAUSES;
}

int64_t timing_pause_blamed_ns(int64_t lease_ns)
{
    return lease_ns;
}

int64_t timing_all_over_ns(int64_t lease_ns, int64_t more_ns)
{
    return clock_after_ns(lease_ns, more_ns);
}

int64_t timing_stop_ns(int64_t lease_ns, int64_t grace_ns)
{
    return clock_after_ns(grace_ns, 2 * lease_ns);
}

int64_t timing_request_ns(int64_t lease_ns)
{
    return lease_ns / TIMING_ANSWERS;
}

int64_t timing_poll_request_ns(int64_t lease_ns)
{
    return timing_poll_ns(lease_ns) + timing_request_ns(lease_ns);
}

int64_t timing_connect_ns(int64_t lease_ns)
{
    return lease_ns / TIMING_CONNECTS;
}

int64_t timing_retry_ns(int64_t lease_ns, uint64_t chance)
{
    int64_t half_ns = timing_least_ns(lease_ns / TIMING_PAUSES_ASKED, CLOCK_S) / 2;

    return half_ns + (int64_t)(chance % (uint64_t)half_ns);
}

int64_t timing_tick_ns(int64_t lease_ns)
{
    return timing_least_ns(lease_ns / TIMING_TICKS, CLOCK_S / 4);
}

int64_t timing_silence_ns(int64_t since_ns, int64_t tick_ns)
{
    return timing_least_ns(since_ns, TIMING_TICKS_COUNTED * tick_ns);
}

int64_t timing_farewell_ns(int64_t lease_ns)
{
    return timing_least_ns(lease_ns / TIMING_FAREWELLS, 2 * CLOCK_S);
}

int64_t timing_frozen_ns(int64_t lease_ns)
{
    return lease_ns;
}

int64_t timing_frozen_look_ns(int64_t frozen_ns)
{
    return frozen_ns / TIMING_FROZEN_LOOKS;
}

int64_t timing_tcp_silence_ms(int64_t lease_ns)
{
    int64_t ms = lease_ns / CLOCK_MS;

    return ms < 1000 ? 1000 : ms;
}

int timing_tcp_probe_s(int64_t lease_ns)
{
    int64_t s = lease_ns / CLOCK_S / TIMING_TCP_PROBES;

    return s < 1 ? 1 : s > 3600 ? 3600 : (int)s;
}

int64_t timing_mpi_alive_s(int64_t lease_ns)
{
    int64_t s = lease_ns / CLOCK_S / TIMING_MPI_ALIVE;

    return s < 2 ? 2 : s;
}

int64_t timing_mpi_probe_s(int64_t lease_ns)
{
    int64_t s = lease_ns / CLOCK_S / (TIMING_MPI_ALIVE * TIMING_MPI_PROBES);

    return s < 2 ? 2 : s;
}
