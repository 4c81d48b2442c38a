/* SPDX-License-Identifier: Apache-2.0 */
/* test_last_words.c - tests of agents/node/output/last_words.h */
#include "agents/node/output/last_words.h"

#include "lib/base/strbuf.h"
#include "suite.h"

#include <string.h>

#define T "Traceback (most recent call last):\n"
#define P "[rank1]: "
#define CAUSE                                                                                      \
    "The above exception was the direct cause of the following exception:\n"                       \
    "\n"
#define DURING "During handling of the above exception, another exception occurred:\n\n"
#define GROUP  "  + Exception Group Traceback (most recent call last):\n"
#define TEN    "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"
#define GLOO   "gloo/transport/tcp/pair.cc:553] Connection closed by peer\n"

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
    /* those of C++ too; where no frame is the user's they stay */
    { 5,
      T "  File \"/u/t.py\", line 1, in main\n    f()\n"
        "  File \"/u/lib/python_tools/x.py\", line 2, in g\n"
        "RuntimeError: boom\nframe #0: a\nframe #1: b\n",
      "Traceback (most recent call last):|  File \"/u/t.py\", line 1, in main|    f()|  File "
      "\"/u/lib/python_tools/x.py\", line 2, in g|RuntimeError: boom|" },
    { 3,
      T "  File \"/v/site-packages/a.py\", line 1, in f\n    f()\n"
        "  File \"/v/site-packages/b.py\", line 1, in f\nE: x\n",
      "Traceback (most recent call last):|  File \"/v/site-packages/b.py\", line 1, in f|E: x|" },
    /* with what it came of */
    { 9, T "KeyError: 1\n\n" CAUSE T "ValueError: 2\n\n" DURING T "OSError: 3\n",
      "Traceback (most recent call last):|KeyError: 1|The above exception was the direct cause of "
      "the following exception:|Traceback (most recent call last):|ValueError: 2|During handling "
      "of the above exception, another exception occurred:|Traceback (most recent call "
      "last):|OSError: 3|" },
    /* a group's exceptions are its own */
    { 9,
      "x\n" GROUP "  |   File \"t.py\", line 1\n  | ExceptionGroup: two (1 sub-exception)\n"
      "  +-+---------------- 1 ----------------\n    | ValueError: 1\n    +-----\n",
      "  + Exception Group Traceback (most recent call last):|  |   File \"t.py\", line 1|  | "
      "ExceptionGroup: two (1 sub-exception)|  +-+---------------- 1 ----------------|    | "
      "ValueError: 1|    +-----|" },
    /* it went on after one */
    { 2, T "ValueError: x\n" TEN "end\n", "9|end|" },
    { 12, T "ValueError: x\n" TEN,
      "Traceback (most recent call last):|ValueError: x|0|1|2|3|4|5|6|7|8|9|" },
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
    { true, "RuntimeError: [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:545] "
            "Read error [127.0.0.1]:13721: Connection reset by peer." },
    { true, "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was "
            "likely closed. Did the remote server shutdown or crash?" },
    { true, "torch.distributed.DistNetworkError: Broken pipe" },
    { true, "[W] sendBytes failed on SocketImpl(fd=3, addr=[::ffff:127.0.0.1]:37144, "
            "remote=[::ffff:127.0.0.1]:23777): Broken pipe" },
    { true, "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms "
            "while trying to connect to (10.0.0.1, 29500)." },
    { true, "NCCL error: remote process exited or there was a network error" },
    { true, "An MPI communication peer process has unexpectedly disconnected.  This\n" },
    { true, "[node2:77:0:77] ucp_ep.c:12 error: Connection reset by remote peer" },
    { false, "torch.distributed.DistNetworkError: The server socket has failed to listen on any "
             "local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE" },
    { true, "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, "
            "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600010 milliseconds" },
    { true, "ncclRemoteError: A call failed possibly due to a network error or a remote process "
            "exiting prematurely." },
    { true, "[node2:77] *** MPI_ERR_PROC_FAILED: Process Failure" },
    { true, "[node2][[1,1],1][btl_tcp_frag.c:242:mca_btl_tcp_frag_recv] mca_btl_tcp_frag_recv: "
            "readv failed: Connection reset by peer (104)" },
    { true, "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down" },
    { true, "memory-worker: rank 1 has left in the middle of an all-reduce" },
    { true, "eddis._lib.Error: rank 1 has left in the middle of a broadcast" },
    { true,
      "eddis._lib.Error: after step 4 the model of rank 2 is not that of the other workers: x" },
    { false,
      "eddis._lib.Error: after step 4 this worker's model, of rank 2, is not that of the others" },
    { true, T "RuntimeError: " GLOO "\n" DURING T "OSError: x\n" },
    { true, T "RuntimeError: " GLOO TEN },
    /* it survived that one */
    { false, T "RuntimeError: " GLOO "retrying\n" T "ValueError: bad sample 17\n" },
    { false, "retrying: " GLOO TEN TEN TEN TEN "giving up\n" },
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

static const struct {
    bool mpis;
    const char *text;
} prints[] = {
    { true, "[node3.site.org:29438] OPAL ERROR: Unreachable\n" },
    { true, "[node3:29438] OPAL ERROR: Unreachable in file ext3x_client.c at line 112\n" },
    { true, "[node3:08026] *** Process received signal ***\n[node3:08026] Signal: Segmentation "
            "fault (11)" },
    { true, "[node3:77:0:77] ucp_ep.c:12 error: Connection reset by remote peer\n\n" },
    { false, "" },
    { false, "loss 0.5\n" },
    { false, "[node3:29438] OPAL ERROR: Unreachable\nloss 0.5\n" },
    { false, "[12:30:05] step 5\n" },
    { false, "[2026-11-29 12:30:05] step 5\n" },
    { false, "[epoch:3] loss 0.5\n" },
    { false, "[node:3] x\n" },
    { false, "[node33:3] x\n" },
    { false, "[node3:] x\n" },
    { false, "[:5] x\n" },
    { false, "[rank1]: Traceback (most recent call last):\n" },
    { false, "[node3:29438]\n" },
    { false, "[node3:" },
    { false, "[" },
};

START_TEST(of_mpi)
{
    ck_assert_int_eq(last_words_are_of_mpi(prints[_i].text, "node3.site.org"), prints[_i].mpis);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, table, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tc, blame, 0, sizeof blames / sizeof *blames);
    tcase_add_loop_test(tc, of_mpi, 0, sizeof prints / sizeof *prints);
}

SUITE_MAIN("last_words", add_tests)
