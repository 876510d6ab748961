/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts programs for tests/bench, at the least cost of its own:
 *
 *   launch each N PROGRAM [ACTION]    PROGRAM ib0 up (or ACTION), then PROGRAM ib1 up … N of them, one after the other
 *   launch together N PROGRAM [ACTION]    the same, all at once; done when the last one is
 *   launch input FILE PROGRAM [ARGUMENT]…    with the file as its standard input
 *   launch memory PROGRAM [ARGUMENT]…    prints its peak resident memory in KiB
 *   launch faults PROGRAM [ARGUMENT]…    prints how many pages it was given when it first touched them
 *
 * What network managers tell by the environment, IFACE, is there, too. The first failure is its own exit status.
 */
#include <fcntl.h>
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

static int with_input(char **argv)
{
    int fd = open(argv[0], O_RDONLY);

    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
        failed("launch: input");
    close(fd);
    start(argv + 1);
    reap();
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    int of_nics, count, together;
    struct rusage usage;
    char up[] = "up";

    if (argc >= 4 && strcmp(argv[1], "input") == 0)
        return with_input(argv + 2);
    of_nics = argc == 4 || argc == 5;
    count = of_nics ? atoi(argv[2]) : 0;
    together = of_nics && strcmp(argv[1], "together") == 0;
    if (argc >= 3 && (strcmp(argv[1], "memory") == 0 || strcmp(argv[1], "faults") == 0)) {
        start(argv + 2);
        usage = reap();
        printf("%ld\n", argv[1][0] == 'm' ? usage.ru_maxrss : usage.ru_minflt);
        return EXIT_SUCCESS;
    }
    if (count < 1 || (!together && strcmp(argv[1], "each") != 0)) {
        fputs("usage: launch each|together N PROGRAM [ACTION], launch input FILE PROGRAM [ARGUMENT]..., "
              "launch memory|faults PROGRAM [ARGUMENT]...\n",
              stderr);
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
