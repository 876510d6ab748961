/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peers by name: the resolver is asked before anything is sent. */
#include "cli/cli.h"

#include <netdb.h>
#include <sys/socket.h>

static IbhIp get_address(const struct addrinfo *one)
{
    const gboolean six = one->ai_family == AF_INET6;
    const struct sockaddr_in6 *in6 = (const void *)one->ai_addr;
    const struct sockaddr_in *in4 = (const void *)one->ai_addr;

    return ibh_ip_from_bytes(one->ai_family, six ? (const void *)&in6->sin6_addr : (const void *)&in4->sin_addr);
}

/* Those that no peer can have in the fabric (of lo, fe80::) are left out. --probe asks each address once,
 * however often it is named. */
static void add_addresses(const struct addrinfo *found, GArray *peers, GString *text)
{
    char buffer[IBH_IP_STRLEN];

    for (const struct addrinfo *one = found; one; one = one->ai_next) {
        const IbhIp ip = get_address(one);

        if (!ibh_ip_is_unicast(&ip) || ibh_ip_is_fe80(&ip))
            continue;
        g_string_append_printf(text, "%s%s", text->len ? ", " : "", ibh_ip_format(&ip, buffer));
        g_array_append_val(peers, ip);
    }
}

gboolean ibh_options_resolve(IbhOptions *options, GString *said, GError **error)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

    IBH_EACH_POINTER (const char, name, options->names) {
        g_autoptr(GString) text = g_string_new(NULL);
        struct addrinfo *found = NULL;
        const int problem = getaddrinfo(name, NULL, &hints, &found);

        if (!problem)
            add_addresses(found, options->probe.peers, text);
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
