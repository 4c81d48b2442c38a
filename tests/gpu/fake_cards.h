/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cards.h - the cards of the fake drivers and BLAS libraries, for machines without a GPU
 *
 * FAKE_GPUS lists the cards of CUDA, "A100,V100:bad,1080Ti:noblas"; unset: two of "plain".
 * FAKE_AMD_GPUS lists those of HIP, "MI300X,MI210"; unset: none.  After a card's name come words
 * for how it behaves, each with a colon:
 *
 *   brief    of NVML's answers why its clock is low only the first says that it works
 *   bad      its context is refused, as of a card in exclusive mode that another process has
 *   busy     another process uses it: it does a third of its work
 *   crash    its context ends the process by a signal
 *   display  process 1 draws on it, for 30 % of the time
 *   hang     its context never comes
 *   lost     it does not answer, as after a fault of the bus
 *   mig=N    it is divided into N instances of MIG
 *   nobf16   its products in bfloat16 fail, although it has them
 *   noblas   cuBLAS or rocBLAS does not start on it
 *   oldblas  cuBLAS or rocBLAS has no products in bfloat16 for it
 *   nouuid   HIP knows no UUID of it
 *   numa=N   it is near NUMA node N, 0 where this word is missing
 *   nv=N     N links of NVLink join it with each other card that has this word
 *   pcie=GxW its bus is of generation G, with W lanes, of 4 and 16
 *   switch=N it shares PCIe switch N with the cards that have the same word
 *   trail    NVML says at the first question that it computed, for a process that has ended
 *   unseen   as busy, but NVML does not list the process, as in a container
 *   used     another process has a context on it, without work
 *
 * FAKE_SALT: a text by which the ends of UUIDs differ, since jobs of one machine lock GPUs by UUID.
 *
 * FAKE_CUDA says how the driver behaves: "nodevice", "stub", "old", "eleven" (of CUDA 11),
 * "broken", "nomemory", "crash", "slow=S" (it starts in S seconds); unset or empty: well.  FAKE_HIP
 * says the same of HIP.
 *
 * FAKE_AWAKE is a file that the first copy to a card makes: until then each link of PCIe sleeps, of
 * generation 1.
 *
 * FAKE_NVML: "none": NVML does not start; "hang": it never answers. FAKE_NVML_STATE is a file that
 * a test may replace at any time. A line is a card's number and words for what NVML says of it:
 * "brake", "cap", "hardware", "heat", "idle" (why its clock is low), "clock=MHZ", "util=PERCENT",
 * "power=W", "temp=C", "ecc=N" (errors that were not corrected), "xid=N" (an event, when it
 * appears), "hang" and "crash" (what the next call does).
 */
#ifndef EDDIS_TESTS_FAKE_CARDS_H
#define EDDIS_TESTS_FAKE_CARDS_H

#include <stdbool.h>

enum { FAKE_MAX = 16, FAKE_UUID = 48 };

/* A card: what it does in a second, as public benchmarks have it */
struct fake_card {
    const char *key; /* in FAKE_GPUS */
    const char *name;
    int major;                     /* compute capability */
    double bytes, free_bytes;      /* memory; that which is free */
    double fp32, tf32, fp16, bf16; /* operations of products; 0: cuBLAS refuses them there */
    double memory;                 /* bytes read and written within the card */
    double bus;                    /* bytes to or from the host, each way */
    bool bad, brief, busy, crash, display, hang, lost, noblas, nouuid, trail, unseen, used;
    int instances; /* of MIG; 0: not divided */
    /* as NVML says: highest clock in MHz, power cap in W; whether its memory has ECC */
    int clock, cap;
    bool ecc;
    int numa, links, on_switch; /* words numa, nv, switch; 0: missing */
    int pcie_gen, pcie_width;
};

/* Store the cards of FAKE_GPUS in ret [FAKE_MAX] and return their number. */
int fake_cards(struct fake_card *ret);

/* As fake_cards, of FAKE_AMD_GPUS. */
int fake_amd_cards(struct fake_card *ret);

/* Write the UUID of a card, or of its instance of MIG (-1: the card's), to the 16 bytes ret. */
void fake_uuid(int card, int instance, unsigned char *ret);

/* Write that UUID to ret [FAKE_UUID], as CUDA_VISIBLE_DEVICES has it. */
void fake_uuid_text(int card, int instance, char *ret);

/* Return the card whose context is current.  Exported by the driver. */
const struct fake_card *fake_current(void);

/* Add work of s seconds to the stream.  Exported by the driver. */
void fake_queue(double s);

#endif
