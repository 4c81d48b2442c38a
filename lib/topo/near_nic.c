/* SPDX-License-Identifier: Apache-2.0 */
/* near_nic.c - compare the places of network cards in the tree of PCI */
#include "near_nic.h"

#include "lib/base/cleanup.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum way { SYS, NODE, PHB, PXB, PIX };

static const char *const way_names[] = { "SYS", "NODE", "PHB", "PXB", "PIX" };

enum { SWITCH = 2 }; /* steps from a device to what two ports of one switch have in common */
enum { MAX_CARDS = 256, CARD = 40 }; /* cards of a machine; most bytes of one in the result */

/* A network card */
struct card {
    enum way way; /* to it */
    char name[31];
    char *place; /* real path of its device, owned */
};

/* Return the real path of root/<folder>/<name><rest>, for the caller to free; NULL: there is none.
 */
static char *place_of(const char *root, const char *folder, const char *name, const char *rest)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s/%s%s", root, folder, name, rest);

    return n > 0 && (size_t)n < sizeof path ? realpath(path, NULL) : NULL;
}

/* Return the NUMA node of the device at this path; -1: unknown. */
static int numa_of(const char *place)
{
    char path[PATH_MAX + 16];
    cleanup_file FILE *f = NULL;
    int numa = -1;

    (void)snprintf(path, sizeof path, "%s/numa_node", place);
    f = fopen(path, "re");
    return f && fscanf(f, "%d", &numa) == 1 ? numa : -1;
}

/* Return the number of names in a path. */
static int count_names(const char *path)
{
    int n = 0;

    for (; *path; path++)
        n += path[0] == '/' && path[1] != '/' && path[1];
    return n;
}

/* Return the way between the devices at two real paths. Each has the host bridge, "pci0000:16",
 * then bridges, then the device.
 */
static enum way way_between(const char *a, const char *b)
{
    const char *bridge = strstr(a, "/pci");
    size_t shared = 0, here = 0;

    for (; a[here] && a[here] == b[here]; here++)
        if (a[here] == '/')
            shared = here;
    if ((!a[here] || a[here] == '/') && (!b[here] || b[here] == '/'))
        shared = here;
    if (!bridge || shared <= (size_t)(bridge - a)) {
        int numa = numa_of(a);

        return numa >= 0 && numa == numa_of(b) ? NODE : SYS;
    }
    if (!strchr(bridge + 1, '/') || shared <= (size_t)(strchr(bridge + 1, '/') - a))
        return PHB;
    return count_names(a + shared) <= SWITCH && count_names(b + shared) <= SWITCH ? PIX : PXB;
}

/* Check whether one of n cards is at this place. */
static bool is_listed(const struct card *card, int n, const char *place)
{
    for (int i = 0; i < n; i++)
        if (strcmp(card[i].place, place) == 0)
            return true;
    return false;
}

/* Append the cards in root/folder to the n of ret [MAX_CARDS]. Return their number. */
static int look_in(const char *root, const char *folder, const char *place, int n, struct card *ret)
{
    char path[PATH_MAX];
    struct dirent **name = NULL;
    int found;

    (void)snprintf(path, sizeof path, "%s%s", root, folder);
    found = scandir(path, &name, NULL, alphasort);
    for (int i = 0; i < found; i++) {
        char *card =
            name[i]->d_name[0] == '.' ? NULL : place_of(root, folder, name[i]->d_name, "/device");

        if (card && n < MAX_CARDS && !is_listed(ret, n, card)) { /* a virtual one is no device */
            ret[n].way = way_between(place, card);
            ret[n].place = card;
            (void)snprintf(ret[n++].name, sizeof ret->name, "%.30s", name[i]->d_name);
        } else {
            free(card);
        }
        free(name[i]);
    }
    free(name);
    return n;
}

void near_nic_find(const char *root, const char *pci, char *ret, size_t size)
{
    cleanup_free char *place = place_of(root, "/sys/bus/pci/devices", pci, "");
    struct card card[MAX_CARDS];
    size_t used = 0;
    int n;

    ret[0] = '\0';
    if (!place || !pci[0])
        return;
    n = look_in(root, "/sys/class/infiniband", place, 0, card);
    n = look_in(root, "/sys/class/net", place, n, card);
    for (int way = PIX; way >= SYS; way--)
        for (int i = 0; i < n; i++)
            if ((int)card[i].way == way && used + CARD < size)
                used += (size_t)snprintf(ret + used, size - used, "%s%s %s", used ? " " : "",
                                         card[i].name, way_names[way]);
    for (int i = 0; i < n; i++)
        free(card[i].place);
}
