/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What others do to files between two calls of the code that is included after this. Each comes once.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

static void (*late)(void);      /* before a file is opened for reading */
static void (*late_link)(void); /* after it was read where a file lies */
static guint n_opened;          /* files and directories, but for those that are only looked at */

static void come(void (**what)(void))
{
    void (*now)(void) = *what;

    *what = NULL;
    if (now)
        now();
}

static int open_late(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!(flags & O_PATH)) {
        n_opened++;
        come(&late);
    }
    return open(path, flags, mode);
}

static DIR *open_directory_late(const char *path)
{
    n_opened++;
    come(&late);
    return opendir(path);
}

static char *read_link_late(const char *path, GError **error)
{
    char *target = g_file_read_link(path, error);

    come(&late_link);
    return target;
}

#define open(...) open_late(__VA_ARGS__)
#define opendir(path) open_directory_late(path)
#define g_file_read_link(path, error) read_link_late(path, error)
