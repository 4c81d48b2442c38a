/* SPDX-License-Identifier: Apache-2.0 */
/* test_timing.c - the limits that follow a lease, as numbers, and what they are to each other */
#include "agents/protocol/timing.h"
#include "tests/unit/suite.h"

#define MS CLOCK_MS
#define S  CLOCK_S

static const struct {
    int64_t lease, poll, sure, pause, tick, farewell, heartbeat, lost, least_lost;
    int64_t tcp_ms, tcp_s, alive_s, probe_s;
} rows[] = {
    { 100 * MS, 33333333, 150 * MS, 33333333, 12500000, 50 * MS, 12500000, 150 * MS, 600 * MS, 1000,
      1, 2, 2 },
    { S, 333333333, 1500 * MS, 333333333, 125 * MS, 500 * MS, 125 * MS, 1500 * MS, 1500 * MS, 1000,
      1, 2, 2 },
    { 5 * S, 1666666666, 7500 * MS, 1666666666, 250 * MS, 2 * S, 625 * MS, 7500 * MS, 6250 * MS,
      5000, 1, 2, 2 },
    { 10 * S, 3333333333, 15 * S, 3333333333, 250 * MS, 2 * S, S, 15 * S, 12500 * MS, 10000, 2, 5,
      2 },
    { 60 * S, 20 * S, 90 * S, 20 * S, 250 * MS, 2 * S, S, 90 * S, 75 * S, 60000, 15, 30, 6 },
    { 86400 * S, 28800 * S, 129600 * S, 28800 * S, 250 * MS, 2 * S, S, 129600 * S, 108000 * S,
      86400000, 3600, 43200, 8640 },
};

START_TEST(derived)
{
    int64_t lease = rows[_i].lease;

    ck_assert_int_eq(timing_poll_ns(lease), rows[_i].poll);
    ck_assert_int_eq(timing_surely_over_ns(lease), rows[_i].sure);
    ck_assert_int_eq(timing_pause_ns(lease), rows[_i].pause);
    ck_assert_int_eq(timing_pause_blamed_ns(lease), lease);
    ck_assert_int_eq(timing_tick_ns(lease), rows[_i].tick);
    ck_assert_int_eq(timing_farewell_ns(lease), rows[_i].farewell);
    ck_assert_int_eq(timing_request_ns(lease), lease / 4);
    ck_assert_int_eq(timing_poll_request_ns(lease), rows[_i].poll + lease / 4);
    ck_assert_int_eq(timing_connect_ns(lease), lease / 10);
    ck_assert_int_eq(timing_frozen_ns(lease), lease);
    ck_assert_int_eq(timing_frozen_look_ns(lease), lease / 4);
    ck_assert_int_eq(timing_all_over_ns(lease, 5 * S), lease + 5 * S);
    ck_assert_int_eq(timing_stop_ns(lease, 30 * S), 2 * lease + 30 * S);
    ck_assert_int_eq(job_lease_heartbeat_ns(lease), rows[_i].heartbeat);
    ck_assert_int_eq(job_lease_node_lost_ns(lease), rows[_i].lost);
    ck_assert_int_eq(job_lease_least_node_lost_ns(lease), rows[_i].least_lost);
    ck_assert_int_eq(timing_tcp_silence_ms(lease), rows[_i].tcp_ms);
    ck_assert_int_eq(timing_tcp_probe_s(lease), rows[_i].tcp_s);
    ck_assert_int_eq(timing_mpi_alive_s(lease), rows[_i].alive_s);
    ck_assert_int_eq(timing_mpi_probe_s(lease), rows[_i].probe_s);
}
END_TEST

/* What no rounding may break. */
START_TEST(inequalities)
{
    int64_t lease = rows[_i].lease;

    ck_assert_int_le(lease + timing_poll_ns(lease), timing_surely_over_ns(lease));
    ck_assert_int_le(timing_surely_over_ns(lease), job_lease_node_lost_ns(lease));
    ck_assert_int_le(2 * timing_silence_ns(CLOCK_NEVER, timing_tick_ns(lease)), lease);
    ck_assert_int_gt(timing_tick_ns(lease), 0);
    ck_assert_int_le(timing_farewell_ns(lease) + timing_tick_ns(lease), lease);
    ck_assert_int_le(job_lease_heartbeat_ns(lease), lease / JOB_LEASE_LEAST_HEARTBEATS);
}
END_TEST

/* Neither all at once nor late. */
START_TEST(retries)
{
    int64_t lease = rows[_i].lease, most = timing_least_ns(lease / 40, S), sum = 0;

    for (uint64_t chance = 0; chance < 1000; chance++) {
        int64_t ns = timing_retry_ns(lease, chance * 2654435761u);

        ck_assert_int_ge(ns, most / 2);
        ck_assert_int_lt(ns, most + 1);
        sum += ns;
    }
    ck_assert_int_gt(sum / 1000, most * 6 / 10);
    ck_assert_int_lt(sum / 1000, most * 9 / 10);
}
END_TEST

/* The network is away from a moment of the agent's choice worst for it: it asks at once before,
 * and its connection to be made fails just after.
 */
START_TEST(outage)
{
    int64_t lease = rows[_i].lease, away = lease / 10 * 6;
    int64_t heard = job_lease_heartbeat_ns(lease) + away + 2 * timing_connect_ns(lease) +
                    timing_retry_ns(lease, UINT64_MAX);

    ck_assert_int_lt(heard, lease);
    ck_assert_int_le(timing_connect_ns(lease), lease / 10);
    ck_assert_int_le(job_lease_heartbeat_ns(lease), lease / 8);
    ck_assert_int_lt(timing_request_ns(lease), away);
}
END_TEST

START_TEST(silence)
{
    ck_assert_int_eq(timing_silence_ns(150, 100), 150);
    ck_assert_int_eq(timing_silence_ns(3600 * S, 100), 200);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, derived, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tc, inequalities, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tc, retries, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tc, outage, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, silence);
}

SUITE_MAIN("timing", add_tests)
