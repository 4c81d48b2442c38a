/* SPDX-License-Identifier: Apache-2.0 */
/* random.c - random digits from the kernel, and a seeded random stream */
#include "random.h"

#include <errno.h>
#include <math.h>
#include <sys/random.h>

int random_hex(char *ret, size_t n, struct eddis_error *err)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        unsigned char byte;

        while (getrandom(&byte, 1, 0) != 1)
            if (errno != EINTR)
                return eddis_fail_errno(err, -errno, "cannot read random bytes");
        ret[i] = digits[byte & 15];
    }
    ret[n] = '\0';
    return 0;
}

uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t random_below(uint64_t *state, uint64_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t x;

    do
        x = random_next(state);
    while (x >= limit);
    return x % n;
}

double random_unit(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1.0p-53;
}

double random_normal(uint64_t *state)
{
    double u = 1 - random_unit(state), v = random_unit(state);

    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

uint64_t random_mix(uint64_t a, uint64_t b)
{
    uint64_t s = a;

    s = random_next(&s) ^ b;
    return random_next(&s);
}
