/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For make coverage: whoever leaves through _exit() (hooks, the process that waits for --confirm) or becomes another
 * program (a hook) counts what it did, too. */
#pragma once

#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);
#define _exit(status)                                                                                                  \
    __extension__({                                                                                                    \
        int left_with = (status);                                                                                      \
        __gcov_dump();                                                                                                 \
        _exit(left_with);                                                                                              \
    })
#define execve(path, arguments, environment)                                                                           \
    __extension__({                                                                                                    \
        __gcov_dump();                                                                                                 \
        __gcov_reset();                                                                                                \
        execve(path, arguments, environment);                                                                          \
    })
