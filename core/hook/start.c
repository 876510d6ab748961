/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only the C library and plain system calls: other libraries may not be initialised yet. */

static const char *const KEPT[] = {"IFACE=",         "MODE=",          "OperationalState=", /* variables for hooks */
                                   "NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=",     /* systemd's, for --watch */
                                   "NO_COLOR=",      "TERM="};

static int begins_with(const char *text, const char *beginning)
{
    while (*beginning && *text == *beginning) {
        text++;
        beginning++;
    }
    return !*beginning;
}

static int is_kept(const char *variable)
{
    for (unsigned long i = 0; i < sizeof KEPT / sizeof KEPT[0]; i++) {
        if (begins_with(variable, KEPT[i]))
            return 1;
    }
    return 0;
}

void ibh_start_environment(char **environment)
{
    char **to = environment;

    for (char **from = environment; *from; from++) {
        if (is_kept(*from))
            *to++ = *from;
    }
    *to = (void *)0;
}

/* If the caller closed 0, 1 or 2, no file opened later may take their place. */
static void open_standard_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR); /* which the executed program inherits */
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

void ibh_start(int argc, char **argv, char **environment)
{
    static int started;

    (void)argc;
    (void)argv;
    if (started)
        return;
    started = 1;
    ibh_start_environment(environment);
    /* The caller's environment stays in memory: no core dump may contain it, and other processes may not read the
     * memory of a process of root's. A limit on core dumps does not hold for those that are piped to a program. */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    umask(022);               /* the next run has no capability to read files in /run that are not readable */
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error, and must not end the process */
    open_standard_descriptors();
}

__attribute__((section(".preinit_array"), used)) static void (*start)(int, char **, char **) = ibh_start;
