/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small files below /sys and /proc, or below a copy of them. Reads are bounded and never wait.
 *
 * Paths begin with "sys/" or "proc/". Links of a copy that lead out of it count as absent. A copy has its proc beside
 * its sys.
 */
#pragma once

#include <glib.h>

typedef struct {
    char *sys;
    char *proc;
    char *real_sys; /* both without links, where others than the kernel could have made some; NULL: there is none */
    char *real_proc;
    GHashTable *lists; /* path → GPtrArray: each directory is listed once */
    gboolean complete; /* /sys itself: a missing file does not exist, and the links are the kernel's */
    int problem;       /* errno of a file that exists, perhaps, but could not be read; 0: none */
} IbhTree;

IbhTree ibh_tree_of(const char *sysfs);
void ibh_tree_clear(IbhTree *tree);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhTree, ibh_tree_clear)

/* The first line, without its newline; "" where there is none. */
G_GNUC_PRINTF(4, 5) void ibh_tree_line(IbhTree *tree, char *line, gsize size, const char *format, ...);
/* At most `limit` bytes of a file; NULL: there is none. */
G_GNUC_PRINTF(3, 4) char *ibh_tree_text(IbhTree *tree, gsize limit, const char *format, ...);
G_GNUC_PRINTF(2, 3) gboolean ibh_tree_has(IbhTree *tree, const char *format, ...);
/* Where the links of this path lead, below sys: "devices/pci0000:3a/…"; NULL: not below it. */
G_GNUC_PRINTF(2, 3) char *ibh_tree_real(IbhTree *tree, const char *format, ...);
/* The names in a directory, sorted (ib2 before ib10), no more than 4,096; none where there is no directory. Not to be
 * changed. */
G_GNUC_PRINTF(2, 3) GPtrArray *ibh_tree_list(IbhTree *tree, const char *format, ...); /* char * */
