/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* If the caller closed 0, 1 or 2, no file opened later may take their place. */
static void open_standard_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

void ibh_start(void)
{
    /* The caller's environment is in memory: no core dump may contain it, and other processes may not read the memory
     * of a process of root's. A limit on core dumps does not hold for those that are piped to a program. */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    umask(022);               /* the next run has no capability to read files in /run that are not readable */
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error, and must not end the process */
    open_standard_descriptors();
}
