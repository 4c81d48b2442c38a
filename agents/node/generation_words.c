/* SPDX-License-Identifier: Apache-2.0 */
/* generation_words.c - reads the logs of mpirun and of the network's probe */
#include "generation.h"

#include "launch.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes at the end of a log that are read. */
enum { WORDS_BYTES = 4096 };

/* Return a copy of text in which the names that mpirun uses for the nodes are replaced by the
 * nodes' names for people.  The caller frees it; NULL: no memory.
 */
static char *with_names(const struct generation *g, const char *text)
{
    struct strbuf b = { 0 };

    while (*text) {
        size_t n = strspn(text, LAUNCH_NAME_LETTERS);
        char word[LAUNCH_NAME] = "";
        int place;

        if (n > 0 && n < sizeof word)
            memcpy(word, text, n);
        place = launch_node_place(word);
        if (place > 0 && place < g->n_nodes)
            strbuf_add(&b, g->node[place].host);
        else
            strbuf_add_bytes(&b, text, n);
        text += n;
        n = strcspn(text, LAUNCH_NAME_LETTERS);
        strbuf_add_bytes(&b, text, n);
        text += n;
    }
    return strbuf_steal(&b);
}

char *generation_words(const struct generation *g)
{
    cleanup_fd int fd = open(g->log_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char words[WORDS_BYTES + 1];
    int64_t from = g->log_offset;
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= from)
        return NULL;
    if (st.st_size - from > WORDS_BYTES)
        from = st.st_size - WORDS_BYTES;
    n = pread(fd, words, WORDS_BYTES, from);
    words[n > 0 ? n : 0] = '\0';
    return with_names(g, words);
}

char *generation_network(const struct generation *g, int rank)
{
    cleanup_free char *path = file_join(g->run, "rank-%04d.log", rank), *text = NULL;
    char *line;

    if (!path || file_read(path, JSON_MAX_BYTES, &text, NULL, NULL) < 0)
        return NULL;
    line = text[0] == '{' ? text : strstr(text, "\n{");
    if (!line)
        return NULL;
    line += line[0] == '\n';
    line[strcspn(line, "\n")] = '\0';
    return strdup(line);
}
