/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the wire brings to --probe: one packet behind the other, each with two bytes in front: what it is taken for, and
 * its length.
 */
#include "reports.h"

#include "cli/cli.h"

#include <linux/if_ether.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

static void add_nic(IbhSnapshot *snapshot, int ifindex, const char *name, const char *four, const char *six)
{
    IbhLink link = {.ifindex = ifindex, .type = 32, .flags = IFF_UP, .carrier = TRUE, .lladdr_len = 6};
    IbhAddress address = {.ifindex = ifindex};

    g_strlcpy(link.name, name, sizeof link.name);
    g_array_append_val(snapshot->links, link);
    (void)ibh_ip_parse(four, &address.local);
    address.subnet = ibh_prefix_of(&address.local, 16);
    g_array_append_val(snapshot->addresses, address);
    (void)ibh_ip_parse(six, &address.local);
    address.subnet = ibh_prefix_of(&address.local, 64);
    g_array_append_val(snapshot->addresses, address);
}

/* From each of two NICs to two peers of each family, two echoes each: all sent. */
static IbhProbe *make_probe(const IbhRails *rails, IbhOptions *options)
{
    char *words[] = {(char *)(guintptr) "ib-hook",  (char *)(guintptr) "--probe", (char *)(guintptr) "10.0.0.1",
                     (char *)(guintptr) "10.0.0.2", (char *)(guintptr) "fd00::1", (char *)(guintptr) "fd00::2",
                     (char *)(guintptr) "--count",  (char *)(guintptr) "2",       NULL};
    IbhProbe *probe;

    if (!ibh_options_parse(words, options, NULL))
        broken("not even the options");
    probe = ibh_probe_new(rails, &options->probe, NULL);
    if (!probe || probe->pairs->len != 8)
        broken("not the pairs that were meant");
    for (guint i = 0; i < probe->pairs->len; i++) {
        ibh_probe_note_sent(ibh_probe_pair(probe, i), 0, 1);
        ibh_probe_note_sent(ibh_probe_pair(probe, i), 1, 2);
        probe->hears = TRUE;
        ibh_probe_pair(probe, i)->syn = i < 4 ? IBH_SYN_UNWANTED : IBH_SYN_SILENT;
    }
    return probe;
}

/* As it is, or as the difference to a right one. */
static void take_reply(IbhProbe *probe, int kind, const uint8_t *bytes, size_t length)
{
    guint pair = (guint)kind >> 3 & 7;
    const IbhProbePair *of = &g_array_index(probe->pairs, IbhProbePair, pair);
    const IbhProbeSource *source = ibh_probe_source(of);
    g_autofree guint8 *packet = g_malloc0(MAX(length, 1));
    guint8 right[IBH_PROBE_PACKET];
    IbhPacket reply = {.ifindex = source->nic->link->ifindex,
                       .from = *ibh_probe_peer(of),
                       .to = source->ip,
                       .icmp = packet,
                       .length = length};

    memcpy(packet, bytes, length);
    (void)ibh_probe_write_echo(ibh_probe_pair(probe, pair), (guint)kind >> 6 & 1, right);
    right[0] = reply.from.family == AF_INET6 ? 129 : 0;
    for (size_t i = 0; kind & 4 && i < MIN(length, sizeof right); i++)
        packet[i] ^= right[i];
    (void)ibh_probe_take_reply(probe, &reply, 3);
}

/* What a peer could send to the pair, from the IP header on: an echo's reply, or the answer to a SYN. */
static gsize make_right(const IbhProbe *probe, guint pair, gboolean is_syn, guint8 right[40 + IBH_PROBE_PACKET])
{
    const IbhProbePair *of = ibh_probe_pair(probe, pair);
    const IbhIp *from = ibh_probe_peer(of), *to = &ibh_probe_source(of)->ip;
    const gboolean six = from->family == AF_INET6;
    const gsize header = six ? 40 : 20, size = six ? 16 : 4, length = is_syn ? IBH_SYN_LENGTH : IBH_PROBE_PACKET;
    guint8 request[IBH_SYN_LENGTH], *segment = right + header;

    memset(right, 0, 40 + IBH_PROBE_PACKET);
    right[0] = six ? 0x60 : 0x45;
    right[six ? 5 : 3] = (guint8)(six ? length : header + length);
    right[six ? 6 : 9] = is_syn ? 6 : six ? 58 : 1;
    memcpy(right + header - 2 * size, from->bytes, size);
    memcpy(right + header - size, to->bytes, size);
    (void)ibh_probe_write_echo(of, 0, segment);
    segment[0] = six ? 129 : 0;
    if (!is_syn)
        return header + length;
    memset(segment, 0, IBH_PROBE_PACKET);
    ibh_probe_write_syn(of, request);
    memcpy(segment, request + 2, 2);
    memcpy(segment + 2, request, 2);
    memcpy(segment + 8, request + 4, 4);
    segment[11]++;
    segment[13] = 0x14;
    return header + length;
}

/* What passes a NIC: with one of the protocols, in either way; as it is, or as the difference to a right one. */
static void take_heard(IbhProbe *probe, int kind, const uint8_t *bytes, size_t length)
{
    static const guint16 PROTOCOLS[] = {ETH_P_IP, ETH_P_IPV6, ETH_P_ARP, ETH_P_8021Q};
    const guint protocol = (guint)kind >> 1 & 3, pair = ((guint)kind >> 4 & 3) + (protocol == 1 ? 4 : 0);
    g_autofree guint8 *packet = g_malloc(MAX(length, 1));
    guint8 right[40 + IBH_PROBE_PACKET];
    const IbhHeard heard = {.ifindex = 2 + (kind >> 6 & 1),
                            .protocol = PROTOCOLS[protocol],
                            .outgoing = (kind & 128) != 0,
                            .bytes = packet,
                            .length = length,
                            .sender = {{2}, 6}};
    gsize n = protocol < 2 ? make_right(probe, pair, protocol == 1 && kind & 8 && kind & 16, right) : 0;

    memcpy(packet, bytes, length);
    for (size_t i = 0; kind & 8 && i < MIN(length, n); i++)
        packet[i] ^= right[i];
    ibh_probe_hear(probe, &heard);
}

static void report(const IbhRails *rails, IbhProbe *probe)
{
    IbhReport all = {.action = IBH_ACTION_PROBE, .rails = rails, .probe = probe};

    ibh_probe_judge(probe);
    all.findings = probe->findings;
    check_report(&all);
    for (guint i = 0; i < probe->pairs->len; i++) {
        const IbhProbePair *pair = &g_array_index(probe->pairs, IbhProbePair, i);

        if (pair->received > pair->sent || pair->hop->n_claims > G_N_ELEMENTS(pair->hop->claims))
            broken("more replies than requests");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhRails) rails = NULL;
    g_auto(IbhOptions) options = {0};
    g_autoptr(IbhProbe) probe = NULL;
    static const char *const names[] = {"ib0", "ib1", NULL};

    add_nic(snapshot, 2, "ib0", "10.0.1.1", "fd00::11");
    add_nic(snapshot, 3, "ib1", "10.0.1.2", "fd00::12");
    rails = ibh_rails_find(config, snapshot, &(IbhRequest){.respects_holds = FALSE}, NULL);
    rails->only = names;
    probe = make_probe(rails, &options);
    for (size_t at = 0; at + 2 <= size;) {
        int kind = data[at];
        size_t length = MIN(data[at + 1], size - at - 2);

        if (kind & 1)
            take_heard(probe, kind, data + at + 2, length);
        else
            take_reply(probe, kind, data + at + 2, length);
        at += 2 + length;
    }
    report(rails, probe);
    return 0;
}
