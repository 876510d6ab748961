/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int ibh_bounded_open(const char *path, int flags)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
}

gssize ibh_bounded_read(int fd, char *text, gsize size, gboolean line)
{
    gsize length = 0;

    while (length < size && !(line && length && text[length - 1] == '\n')) {
        const gssize count = read(fd, text + length, size - length);

        if (count == 0)
            break;
        if (count > 0)
            length += (gsize)count;
        else if (errno != EINTR)
            return -1;
    }
    return (gssize)length;
}
