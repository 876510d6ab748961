/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How every file is read here: never more than asked for, and never waiting. Whether it may be trusted (trusted.c), and
 * whether it lies in the tree that is looked at (tree.c), is a step before.
 */
#pragma once

#include <glib.h>

/* `flags`: further ones of open(2). A FIFO without a writer does not block us, and a terminal does not become ours.
 * Returns -1 and errno where it cannot be opened. */
int ibh_bounded_open(const char *path, int flags);
/* Up to `size` bytes; where `line` is set, to the end of the first line at most, which saves asking for more. Returns
 * how many; -1 and errno where they cannot be read. */
gssize ibh_bounded_read(int fd, char *text, gsize size, gboolean line);
