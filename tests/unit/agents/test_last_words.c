/* SPDX-License-Identifier: Apache-2.0 */
/* test_last_words.c - tests of agents/node/output/last_words.h */
#include "agents/node/output/last_words.h"

#include "lib/base/strbuf.h"
#include "suite.h"

#include <string.h>

#define T "Traceback (most recent call last):\n"
#define P "[rank1]: "

static const struct {
    int most;
    const char *in, *out;
} rows[] = {
    { 3, "", "" },
    { 3, "a\nb\n\nc\nd", "b|c|d|" },
    { 9, "a\nb", "a|b|" },
    /* a traceback stands alone, with what follows it */
    { 9, "step 1\nstep 2\n" T "  File \"t.py\", line 1, in <module>\n    f()\nValueError: x\nbye\n",
      "Traceback (most recent call last):|  File \"t.py\", line 1, in <module>|    f()|ValueError: "
      "x|bye|" },
    { 9, "step\n" P T P "  File \"t.py\", line 1, in f\n" P "ValueError: x\n",
      P "Traceback (most recent call last):|" P "  File \"t.py\", line 1, in f|" P
        "ValueError: x|" },
    /* of several the last */
    { 9, T "KeyError: 1\n\nDuring handling of the above exception:\n\n" T "ValueError: 2\n",
      "Traceback (most recent call last):|ValueError: 2|" },
    /* too long: libraries' frames go, the user's stay */
    { 5,
      T "  File \"/u/t.py\", line 1, in main\n    f()\n"
        "  File \"/v/site-packages/torch/x.py\", line 2, in g\n    g()\n      ^\n"
        "  File \"/usr/lib/python3.11/y.py\", line 3, in h\n    h()\n"
        "  File \"<frozen runpy>\", line 3, in h\n"
        "RuntimeError: boom\n",
      "Traceback (most recent call last):|  File \"/u/t.py\", line 1, in main|    "
      "f()|RuntimeError: "
      "boom|" },
    /* and then the middle */
    { 4, T "  File \"a.py\"\n  File \"b.py\"\n  File \"c.py\"\n  File \"d.py\"\nE: x\n",
      "Traceback (most recent call last):|  File \"a.py\"|  File \"d.py\"|E: x|" },
};

START_TEST(table)
{
    struct last_line line[16];
    struct strbuf b = { 0 };
    int n = last_words_choose(rows[_i].in, strlen(rows[_i].in), rows[_i].most, line);

    for (int i = 0; i < n; i++) {
        strbuf_add_bytes(&b, rows[_i].in + line[i].from, line[i].to - line[i].from);
        strbuf_add(&b, "|");
    }
    ck_assert_str_eq(strbuf_text(&b), rows[_i].out);
    strbuf_fini(&b);
}
END_TEST

/* Real sentences of ranks whose peer has gone, and of ranks that failed by themselves. */
static const struct {
    bool another;
    const char *text;
} blames[] = {
    { true, "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection "
            "closed by peer [127.0.0.1]:5678" },
    { true,
      "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed "
      "out waiting 60000ms for recv operation to complete" },
    { true,
      "torch.distributed.DistNetworkError: failed to recv, got 0 bytes. Connection was likely "
      "closed. Did the remote server shutdown or crash?" },
    { true, "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, "
            "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600010 milliseconds" },
    { true, "ncclRemoteError: A call failed possibly due to a network error or a remote process "
            "exiting prematurely." },
    { true, "[node2:77] *** MPI_ERR_PROC_FAILED: Process Failure" },
    { true, "[node2][[1,1],1][btl_tcp_frag.c:242:mca_btl_tcp_frag_recv] mca_btl_tcp_frag_recv: "
            "readv failed: Connection reset by peer (104)" },
    { true, "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down" },
    { false, "" },
    { false, "ValueError: bad sample 17" },
    { false, "ConnectionResetError: [Errno 104] Connection reset by peer" },
    { false, "torch.OutOfMemoryError: CUDA out of memory." },
    { false, "ncclInvalidUsage: This usually reflects invalid usage of NCCL library." },
    { false, "*** MPI_ERR_TRUNCATE: message truncated" },
};

START_TEST(blame)
{
    ck_assert_int_eq(last_words_blame_another(blames[_i].text, strlen(blames[_i].text)),
                     blames[_i].another);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, table, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tc, blame, 0, sizeof blames / sizeof *blames);
}

SUITE_MAIN("last_words", add_tests)
