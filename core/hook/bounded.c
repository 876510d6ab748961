/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/bounded.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void ibh_log_last(const char *text)
{
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    size_t length = strlen(text);

    if (poll(&output, 1, 0) == 1 && output.revents == POLLOUT)
        (void)!write(STDERR_FILENO, text, length < PIPE_BUF ? length : PIPE_BUF); /* there is room for so much */
}

/* In a signal handler: no memory, no locks. */
void ibh_last_words(const char *words)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 ||
        sendto(fd, words, strlen(words), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address) < 0)
        ibh_log_last(words);
    if (fd >= 0)
        close(fd);
}

/* The next run completes work that is half done then. */
static void on_signal(int number)
{
    ibh_last_words(number == SIGALRM ? "<27>ib-hook: the hook gave up after 10 s: the kernel did not answer in time; "
                                       "ib-hook --check says what is missing\n"
                                     : "<27>ib-hook: the hook ended early: out of memory, or a fault of its own; "
                                       "ib-hook --check says what is missing\n");
    _exit(0);
}

/* ifupdown marks an interface as failed, and leaves out what comes after, if a hook does not exit with 0. */
void ibh_bounded(unsigned seconds)
{
    static const int numbers[] = {SIGALRM, SIGABRT, SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS, SIGXCPU};
    static char room[32 * 1024]; /* also if the stack is full */
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigset_t set;

    (void)sigaltstack(&stack, NULL);
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaction(numbers[i], &action, NULL);
        sigaddset(&set, numbers[i]);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    alarm(seconds);
}
