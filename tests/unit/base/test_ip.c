/* SPDX-License-Identifier: Apache-2.0 */
/* test_ip.c - tests of lib/base/ip.h; the C library is the reference */
#include "lib/base/ip.h"

#include "suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 20000 };

static uint32_t state = 1;

static uint8_t draw(void)
{
    state = state * 1103515245 + 12345;
    return (uint8_t)(state >> 16);
}

/* Draw an address, with many zeros, as real ones have; every second one of IPv4. */
static struct ip draw_ip(int round)
{
    struct ip ret = { .byte = { 0 } };

    for (int i = round % 2 ? 0 : 12; i < 16; i++)
        ret.byte[i] = draw() & 1 ? draw() : 0;
    if (round % 2 == 0)
        ret.byte[10] = ret.byte[11] = 0xff;
    return ret;
}

START_TEST(round_trip)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct ip a = draw_ip(i), b;
        struct sockaddr_storage s;
        char text[IP_CHARS], long_form[IP_CHARS], again[IP_CHARS];
        socklen_t n = ip_to_socket(&a, 4711, &s);
        const uint8_t *x = a.byte;

        ck_assert(ip_parse(ip_text(&a, text), &b));
        ck_assert_mem_eq(&a, &b, sizeof a);
        ck_assert(ip_of_socket((struct sockaddr *)&s, &b));
        ck_assert_mem_eq(&a, &b, sizeof a);
        ck_assert_int_eq(s.ss_family, i % 2 ? AF_INET6 : AF_INET);
        ck_assert_uint_eq(n, i % 2 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
        (void)snprintf(long_form, sizeof long_form,
                       "%02X%02X:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02X",
                       x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11],
                       x[12], x[13], x[14], x[15]);
        ck_assert_msg(ip_same(text, long_form), "%s %s", text, long_form);
        ck_assert(ip_parse(long_form, &b));
        ck_assert_str_eq(ip_text(&b, again), text);
    }
}
END_TEST

/* Bit by bit. */
static bool same_bits(const struct ip *a, const struct ip *b, int n)
{
    for (int i = 0; i < n; i++)
        if ((a->byte[i / 8] ^ b->byte[i / 8]) & 0x80 >> i % 8)
            return false;
    return true;
}

START_TEST(networks)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct ip a = draw_ip(i), b = a, net;
        int bits = draw() % (ip_bits(&a) + 1), first = 128 - ip_bits(&a), flip = draw() % 128;

        if (flip >= first)
            b.byte[flip / 8] ^= (uint8_t)(0x80 >> flip % 8);
        net = ip_masked(&a, bits);
        ck_assert(same_bits(&a, &net, first + bits));
        for (int k = first + bits; k < 128; k++)
            ck_assert_int_eq(net.byte[k / 8] & 0x80 >> k % 8, 0);
        if (ip_is_v4(&a) == ip_is_v4(&b))
            ck_assert_int_eq(ip_same_network(&a, &b, bits), same_bits(&a, &b, first + bits));
    }
}
END_TEST

static const char *const bad[] = { "",          "fe80::1%eth0",      "[::1]", "::1 ",      "10.1.0",
                                   "10.1.0.07", "1:2:3:4:5:6:7:8:9", ":::",   "1::2::3",   "g::",
                                   "localhost", "::ffff:1.2.3",      "/64",   "10.1.0.0/8" };

START_TEST(no_address)
{
    struct ip a;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!ip_parse(bad[i], &a) && !ip_same(bad[i], bad[i]), "%s", bad[i]);
    ck_assert(!ip_of_socket(NULL, &a));
    ck_assert(!ip_of_socket(&(struct sockaddr){ .sa_family = AF_UNIX }, &a));
}
END_TEST

static const struct {
    const char *text;
    bool v4, loopback, unspecified, link_local, unicast;
} kinds[] = {
    { "10.1.0.7", true, false, false, false, true },
    { "::ffff:10.1.0.7", true, false, false, false, true },
    { "127.9.0.1", true, true, false, false, true },
    { "::ffff:127.0.0.1", true, true, false, false, true },
    { "0.0.0.0", true, false, true, false, false },
    { "::ffff:0.0.0.0", true, false, true, false, false },
    { "169.254.1.2", true, false, false, true, true },
    { "169.253.1.2", true, false, false, false, true },
    { "224.0.0.1", true, false, false, false, false },
    { "255.255.255.255", true, false, false, false, false },
    { "fd00::7", false, false, false, false, true },
    { "::1", false, true, false, false, true },
    { "::", false, false, true, false, false },
    { "::1.0.0.0", false, false, false, false, true },
    { "1::", false, false, false, false, true },
    { "fe80::1", false, false, false, true, true },
    { "febf::1", false, false, false, true, true },
    { "fec0::1", false, false, false, false, true },
    { "ff02::1", false, false, false, false, false },
};

START_TEST(kind)
{
    struct ip a;

    ck_assert(ip_parse(kinds[_i].text, &a));
    ck_assert_int_eq(ip_is_v4(&a), kinds[_i].v4);
    ck_assert_int_eq(ip_bits(&a), kinds[_i].v4 ? 32 : 128);
    ck_assert_int_eq(ip_is_loopback(&a), kinds[_i].loopback);
    ck_assert_int_eq(ip_is_unspecified(&a), kinds[_i].unspecified);
    ck_assert_int_eq(ip_is_link_local(&a), kinds[_i].link_local);
    ck_assert_int_eq(ip_is_unicast(&a), kinds[_i].unicast);
}
END_TEST

START_TEST(network_text)
{
    char text[IP_NETWORK_CHARS];
    struct ip a;

    ck_assert(ip_parse("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &a));
    ck_assert_str_eq(ip_network_text(&a, 128, text), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128");
    ck_assert_str_eq(ip_network_text(&a, 60, text), "ffff:ffff:ffff:fff0::/60");
    ck_assert(ip_parse("10.1.2.3", &a));
    ck_assert_str_eq(ip_network_text(&a, 22, text), "10.1.0.0/22");
    ck_assert_str_eq(ip_network_text(&a, 0, text), "0.0.0.0/0");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, round_trip);
    tcase_add_test(tc, networks);
    tcase_add_test(tc, no_address);
    tcase_add_loop_test(tc, kind, 0, sizeof kinds / sizeof *kinds);
    tcase_add_test(tc, network_text);
}

SUITE_MAIN("ip", add_tests)
