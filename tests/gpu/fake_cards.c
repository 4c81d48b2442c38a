/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cards.c - read the cards of FAKE_GPUS */
#include "fake_cards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GB 0x1p30
#define MB 0x1p20
#define T  1e12
#define G  1e9

/* "plain" has little free memory, so that products are small. */
static const struct fake_card rows[] = {
    { .key = "plain",
      .clock = 1000,
      .cap = 100,
      .name = "Fake GPU\033[2J",
      .major = 5,
      .bytes = 16 * GB,
      .free_bytes = 20 * MB,
      .fp32 = 0.2 * T,
      .fp16 = 2 * T,
      .memory = 1000 * G,
      .bus = 100 * G },
    { .key = "A100",
      .clock = 1410,
      .cap = 400,
      .ecc = true,
      .name = "NVIDIA A100-SXM4-80GB",
      .major = 8,
      .bytes = 80 * GB,
      .free_bytes = 79 * GB,
      .fp32 = 19 * T,
      .tf32 = 130 * T,
      .fp16 = 270 * T,
      .bf16 = 270 * T,
      .memory = 1500 * G,
      .bus = 25 * G },
    { .key = "V100",
      .clock = 1530,
      .cap = 300,
      .ecc = true,
      .name = "Tesla V100-SXM2-16GB",
      .major = 7,
      .bytes = 16 * GB,
      .free_bytes = 15 * GB,
      .fp32 = 14.5 * T,
      .fp16 = 100 * T,
      .memory = 780 * G,
      .bus = 12 * G },
    { .key = "MI300X",
      .name = "AMD Instinct MI300X",
      .bytes = 192 * GB,
      .free_bytes = 191 * GB,
      .fp32 = 100 * T,
      .fp16 = 600 * T,
      .bf16 = 600 * T,
      .memory = 4000 * G,
      .bus = 50 * G },
    { .key = "MI210",
      .name = "AMD Instinct MI210",
      .bytes = 64 * GB,
      .free_bytes = 63 * GB,
      .fp32 = 35 * T,
      .fp16 = 140 * T,
      .bf16 = 140 * T,
      .memory = 1300 * G,
      .bus = 25 * G },
    { .key = "7900XTX",
      .name = "AMD Radeon RX 7900 XTX",
      .bytes = 24 * GB,
      .free_bytes = 23 * GB,
      .fp32 = 25 * T,
      .fp16 = 90 * T,
      .bf16 = 90 * T,
      .memory = 800 * G,
      .bus = 25 * G },
    { .key = "1080Ti",
      .clock = 1911,
      .cap = 250,
      .name = "NVIDIA GeForce GTX 1080 Ti",
      .major = 6,
      .bytes = 11 * GB,
      .free_bytes = 10 * GB,
      .fp32 = 11 * T,
      .fp16 = 11 * T,
      .memory = 370 * G,
      .bus = 12 * G },
};

/* Return the card of this key. */
static struct fake_card card_of(const char *key)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].key, key) == 0)
            return rows[i];
    fprintf(stderr, "FAKE_GPUS: there is no card '%s'\n", key);
    abort();
}

/* Have a card behave as this word says. */
static void behave(struct fake_card *c, const char *word)
{
    c->bad |= strcmp(word, "bad") == 0;
    c->brief |= strcmp(word, "brief") == 0;
    c->busy |= strcmp(word, "busy") == 0;
    c->crash |= strcmp(word, "crash") == 0;
    c->display |= strcmp(word, "display") == 0;
    c->hang |= strcmp(word, "hang") == 0;
    c->lost |= strcmp(word, "lost") == 0;
    c->noblas |= strcmp(word, "noblas") == 0;
    c->nouuid |= strcmp(word, "nouuid") == 0;
    c->trail |= strcmp(word, "trail") == 0;
    c->unseen |= strcmp(word, "unseen") == 0;
    c->used |= strcmp(word, "used") == 0;
    if (strcmp(word, "nobf16") == 0)
        c->bf16 = -1;
    if (strcmp(word, "oldblas") == 0)
        c->bf16 = 0;
    (void)(sscanf(word, "mig=%d", &c->instances) || sscanf(word, "numa=%d", &c->numa) ||
           sscanf(word, "nv=%d", &c->links) || sscanf(word, "switch=%d", &c->on_switch) ||
           sscanf(word, "pcie=%dx%d", &c->pcie_gen, &c->pcie_width));
}

/* Apply a third of the work to a busy card, and 1/N to each of N instances. */
static void divide(struct fake_card *c)
{
    double n = (c->busy || c->unseen ? 3 : 1) * (c->instances ? c->instances : 1);

    c->fp32 /= n;
    c->tf32 /= n;
    c->fp16 /= n;
    c->bf16 /= n;
    c->memory /= n;
    c->bytes /= c->instances ? c->instances : 1;
    c->free_bytes /= n;
}

/* Store the cards of this list in ret [FAKE_MAX] and return their number. */
static int read_cards(const char *list, struct fake_card *ret)
{
    char text[512], *at, *next = text;
    int n = 0;

    snprintf(text, sizeof text, "%s", list);
    while (n < FAKE_MAX && (at = strsep(&next, ","))) {
        const char *word = strsep(&at, ":");

        ret[n] = card_of(word);
        ret[n].pcie_gen = 4;
        ret[n].pcie_width = 16;
        while ((word = strsep(&at, ":")))
            behave(&ret[n], word);
        divide(&ret[n++]);
    }
    return n;
}

int fake_cards(struct fake_card *ret)
{
    const char *list = getenv("FAKE_GPUS");

    return read_cards(list && *list ? list : "plain,plain", ret);
}

int fake_amd_cards(struct fake_card *ret)
{
    const char *list = getenv("FAKE_AMD_GPUS");

    return list && *list ? read_cards(list, ret) : 0;
}

void fake_uuid(int card, int instance, unsigned char *ret)
{
    const char *salt = getenv("FAKE_SALT");

    for (int i = 0; i < 16; i++)
        ret[i] = (unsigned char)(i * 16 + card);
    for (int i = 0; salt && i < 4 * (int)strlen(salt); i++) /* the last four bytes */
        ret[12 + i % 4] = (unsigned char)(ret[12 + i % 4] * 31 + salt[i / 4] + i % 4);
    if (instance >= 0)
        ret[0] = (unsigned char)(128 + instance * 16 + card);
}

void fake_uuid_text(int card, int instance, char *ret)
{
    size_t at = (size_t)sprintf(ret, instance < 0 ? "GPU-" : "MIG-");
    unsigned char u[16];

    fake_uuid(card, instance, u);
    for (int i = 0; i < 16; i++)
        at += (size_t)sprintf(ret + at, i >= 4 && i <= 10 && i % 2 == 0 ? "-%02x" : "%02x", u[i]);
}
