/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts programs for tests/bench, at the least cost of its own:
 *
 *   launch each N PROGRAM [ACTION]    PROGRAM ib0 up (or ACTION), then PROGRAM ib1 up … N of them, one after the other
 *   launch together N PROGRAM [ACTION]    the same, all at once; done when the last one is
 *   launch memory PROGRAM [ARGUMENT]…    prints its peak resident memory in KiB
 *
 * What network managers tell by the environment, IFACE, is there, too. The first failure is its own exit status.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static void start(char **argv)
{
    int error = posix_spawn(NULL, argv[0], NULL, NULL, argv, environ);

    if (error) {
        fprintf(stderr, "launch: %s: %s\n", argv[0], strerror(error));
        exit(EXIT_FAILURE);
    }
}

static struct rusage reap(void)
{
    struct rusage usage;
    int status;

    if (wait4(-1, &status, 0, &usage) < 0)
        failed("launch: wait");
    if (status != 0) {
        fprintf(stderr, "launch: a program failed: wait status 0x%x\n", (unsigned)status);
        exit(EXIT_FAILURE);
    }
    return usage;
}

static void start_for_nic(char *program, int number, char *action)
{
    char name[16];
    char *argv[] = {program, name, action, NULL};

    (void)snprintf(name, sizeof name, "ib%d", number);
    if (setenv("IFACE", name, 1) < 0)
        failed("launch: setenv");
    start(argv);
}

int main(int argc, char **argv)
{
    int of_nics = argc == 4 || argc == 5, count = of_nics ? atoi(argv[2]) : 0;
    int together = of_nics && strcmp(argv[1], "together") == 0;
    char up[] = "up";

    if (argc >= 3 && strcmp(argv[1], "memory") == 0) {
        start(argv + 2);
        printf("%ld\n", reap().ru_maxrss);
        return EXIT_SUCCESS;
    }
    if (count < 1 || (!together && strcmp(argv[1], "each") != 0)) {
        fputs("usage: launch each|together N PROGRAM [ACTION], launch memory PROGRAM [ARGUMENT]...\n", stderr);
        return 2;
    }
    for (int i = 0; i < count; i++) {
        start_for_nic(argv[3], i, argc == 5 ? argv[4] : up);
        if (!together)
            reap();
    }
    for (int i = 0; together && i < count; i++)
        reap();
    return EXIT_SUCCESS;
}
