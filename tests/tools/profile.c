/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has nm.so write the profile of an IPoIB interface, which cannot be made in a namespace: profile NM.SO IFACE [PARENT
 * PKEY]
 */
#include "render/render.h"

#include <dlfcn.h>
#include <linux/if_arp.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>

static IbhProfileWriter *load(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW);
    IbhProfileWriter *writer = NULL;

    if (plugin)
        *(void **)(&writer) = dlsym(plugin, "ibh_nm_write_profile");
    if (!writer) {
        fprintf(stderr, "profile: %s\n", dlerror());
        exit(EXIT_FAILURE);
    }
    return writer;
}

int main(int argc, char **argv)
{
    IbhLink link = {.ifindex = 2, .type = ARPHRD_INFINIBAND, .lladdr_len = 20};
    IbhNic nic = {.link = &link};
    IbhNative native = {.nic = &nic};
    GError *error = NULL;
    char *text;

    if (argc != 3 && argc != 5) {
        fputs("usage: profile NM.SO IFACE [PARENT PKEY]\n", stderr);
        return EXIT_FAILURE;
    }
    native.addresses = g_array_new(FALSE, TRUE, sizeof(IbhAddress));
    native.routes = g_array_new(FALSE, TRUE, sizeof(IbhRoute));
    native.rules = g_array_new(FALSE, TRUE, sizeof(IbhRule));
    g_strlcpy(link.name, argv[2], sizeof link.name);
    if (argc == 5) {
        unsigned long pkey = strtoul(argv[4], NULL, 16);

        g_strlcpy(link.kind, "ipoib", sizeof link.kind);
        link.parent = (int)if_nametoindex(argv[3]);
        link.broadcast[8] = (guint8)(pkey >> 8);
        link.broadcast[9] = (guint8)pkey;
    }
    text = load(argv[1])(&native, &error);
    fputs(text ? text : error->message, stdout);
    return text ? EXIT_SUCCESS : EXIT_FAILURE;
}
