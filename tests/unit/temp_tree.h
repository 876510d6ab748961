/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories that a test makes for itself. */
#pragma once

/* Removes a file or a directory with all that is in it; a symbolic link itself, not what it points to. */
void remove_tree(const char *path);
