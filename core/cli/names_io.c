/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peers that are given by name. The names are resolved before --probe sends anything. */
#include "cli/cli.h"

#include <netdb.h>
#include <sys/socket.h>

/* Leaves out addresses that --probe cannot ask, such as loopback, multicast and fe80:: addresses. Several names may
 * have the same address: ibh_probe_new() takes this address only once. */
gboolean ibh_options_resolve(IbhOptions *options, GString *said, GError **error)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

    IBH_EACH_POINTER (const char, name, options->names) {
        g_autoptr(GString) text = g_string_new(NULL);
        struct addrinfo *found = NULL;
        const int problem = getaddrinfo(name, NULL, &hints, &found);

        for (const struct addrinfo *one = problem ? NULL : found; one; one = one->ai_next) {
            const void *six = &((const struct sockaddr_in6 *)(const void *)one->ai_addr)->sin6_addr,
                       *four = &((const struct sockaddr_in *)(const void *)one->ai_addr)->sin_addr;
            const IbhIp ip = ibh_ip_from_bytes(one->ai_family, one->ai_family == AF_INET6 ? six : four);
            char buffer[IBH_IP_STRLEN];

            if (!ibh_ip_is_unicast(&ip) || ibh_ip_is_fe80(&ip))
                continue;
            g_string_append_printf(text, "%s%s", text->len ? ", " : "", ibh_ip_format(&ip, buffer));
            g_array_append_val(options->probe.peers, ip);
        }
        if (found)
            freeaddrinfo(found);
        if (problem || !text->len) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--probe %s: %s", name,
                        problem ? gai_strerror(problem) : "the name has only loopback, multicast or fe80:: addresses");
            return FALSE;
        }
        g_string_append_printf(said, "ib-hook: %s is %s\n", name, text->str);
    }
    return TRUE;
}
