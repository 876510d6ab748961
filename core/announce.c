#include "announce.h"

#include "arp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* sockaddr_ll has room for 8 bytes of hardware address, but the kernel takes a longer one: InfiniBand has 20. */
typedef union {
    struct sockaddr generic;
    struct sockaddr_ll link;
    guint8 room[offsetof(struct sockaddr_ll, sll_addr) + IBH_LLADDR_MAX];
} LinkAddress;

static gboolean fail(const char *what, GError **error)
{
    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno), "%s: %s", what, g_strerror(errno));
    return FALSE;
}

gboolean ibh_announce(IbhAnnouncer *announcer, const IbhLink *link, const IbhIp *ip, GError **error)
{
    guint8 frame[IBH_ARP_MAX];
    gsize length = ibh_arp_announcement(link, ip, frame);
    LinkAddress to = {.link = {.sll_family = AF_PACKET,
                               .sll_protocol = htons(ETH_P_ARP),
                               .sll_ifindex = link->ifindex,
                               .sll_halen = (guint8)link->lladdr_len}};

    if (!length)
        return TRUE; /* no hardware address: nobody has learned one */
    if (announcer->socket < 0)
        announcer->socket = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (announcer->socket < 0)
        return fail("cannot open a packet socket", error);
    memcpy(to.room + offsetof(struct sockaddr_ll, sll_addr), link->broadcast, link->lladdr_len);
    if (sendto(announcer->socket, frame, length, 0, &to.generic, sizeof to) < 0)
        return fail("cannot send an announcement", error);
    return TRUE;
}

void ibh_announcer_clear(IbhAnnouncer *announcer)
{
    if (announcer->socket >= 0)
        close(announcer->socket);
    announcer->socket = -1;
}
