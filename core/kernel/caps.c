/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (1u << (capability))

gboolean ibh_caps_keep_net(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    const guint32 keep = BIT(CAP_NET_ADMIN) | BIT(CAP_NET_RAW);

    /* If this process executes a program, the program gets back no capability that we drop here. */
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_capget, &header, data) < 0)
        return FALSE;
    data[0].effective &= keep;
    data[0].permitted &= keep;
    data[0].inheritable = 0;
    data[1] = (struct __user_cap_data_struct){0};
    (void)syscall(SYS_capset, &header, data); /* cannot fail; if it did, we would only keep more than we need */
    return (data[0].effective & BIT(CAP_NET_ADMIN)) != 0;
}
