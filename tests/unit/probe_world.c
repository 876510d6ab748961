/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe_world.h"

#include "model/arp.h"
#include "speaks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/if_ether.h>
#include <string.h>
#include <sys/socket.h>

void world_clear(World *world)
{
    g_clear_pointer(&world->probe, ibh_probe_free);
    g_clear_pointer(&world->rails, ibh_rails_free);
    g_clear_pointer(&world->config, ibh_config_free);
    g_clear_pointer(&world->cas, ibh_case_free);
    ibh_options_clear(&world->options);
    g_clear_pointer(&world->argv, g_strfreev);
    g_clear_error(&world->error);
}

/* `line`: as behind "ib-hook", beginning with "--probe". */
World try_look(const char *text, const char *line)
{
    g_autofree char *words = g_strconcat("ib-hook ", line, NULL);
    g_autoptr(GError) error = NULL;
    World world = {
        .cas = ibh_case_parse("world", text, &error), .config = ibh_config_new(), .argv = g_strsplit(words, " ", -1)};

    if (!world.cas || !ibh_options_parse(world.argv, &world.options, &error))
        fail_msg("%s", error->message);
    world.rails = ibh_rails_find(world.config, world.cas->snapshot, &(IbhRequest){.respects_holds = FALSE}, &error);
    if (!world.rails)
        fail_msg("%s", error->message);
    world.rails->only = (const char *const *)world.options.ifaces;
    world.probe = ibh_probe_new(world.rails, &world.options.probe, &world.error);
    if (world.probe) {
        world.probe->tag = TAG;
        for (guint i = 0; i < world.probe->pairs->len; i++) {
            memcpy(pair_at(&world, i)->cookie, "sixteen letters.", 16);
            pair_at(&world, i)->cookie[15] = (guint8)i;
        }
    }
    return world;
}

World look(const char *text, const char *line)
{
    World world = try_look(text, line);

    if (!world.probe)
        fail_msg("%s: %s", line, world.error->message);
    return world;
}

IbhProbePair *pair_at(const World *world, guint i)
{
    assert_true(i < world->probe->pairs->len);
    return &g_array_index(world->probe->pairs, IbhProbePair, i);
}

void claim(const World *world, guint pair, IbhLladdr lladdr, guint answers)
{
    IbhProbeHop *hop = pair_at(world, pair)->hop;

    hop->claims[hop->n_claims++] = (IbhProbeClaim){.lladdr = lladdr, .answers = answers};
}

/* The right reply to this request, in `bytes`. */
IbhPacket reply_to(const World *world, guint pair, guint number, guint8 bytes[IBH_PROBE_PACKET])
{
    const IbhProbeSource *source = ibh_probe_source(pair_at(world, pair));
    IbhPacket reply = {
        .from = *ibh_probe_peer(pair_at(world, pair)), .to = source->ip, .icmp = bytes, .length = IBH_PROBE_PACKET};

    ibh_probe_write_echo(pair_at(world, pair), number, bytes);
    bytes[0] = reply.from.family == AF_INET6 ? 129 : 0;
    return reply;
}

/* As what answers a request writes it: the request's, and what differs. */
static void write_sum(guint8 *packet, gsize length, const guint8 *addresses, gboolean six)
{
    guint32 sum = six ? (guint32)length + 58 : 0;

    ibh_put16(packet + 2, 0);
    for (gsize i = 0; i < length; i += 2)
        sum += ibh_get16(packet + i);
    for (gsize i = 0; six && i < 32; i += 2)
        sum += ibh_get16(addresses + i);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    ibh_put16(packet + 2, ~sum & 0xffff);
}

Frame echo_frame(const World *world, guint i, guint number, Way way)
{
    const IbhProbePair *pair = pair_at(world, i);
    const IbhIp *own = &ibh_probe_source(pair)->ip, *peer = ibh_probe_peer(pair);
    gboolean six = own->family == AF_INET6;
    gsize header = six ? 40 : 20, size = six ? 16 : 4;
    Frame frame = {.length = header + IBH_PROBE_PACKET, .protocol = six ? ETH_P_IPV6 : ETH_P_IP};
    g_autofree guint8 *packet = g_malloc(IBH_PROBE_SIZE_MAX);
    gsize length = ibh_probe_write_echo(pair_at(world, i), number, packet);

    frame.bytes[0] = six ? 0x60 : 0x45;
    frame.bytes[six ? 6 : 9] = six ? 58 : 1;
    ibh_put16(frame.bytes + (six ? 4 : 2), (guint)(length + (six ? 0 : 20)));
    memcpy(frame.bytes + header - 2 * size, (way == OUT ? own : peer)->bytes, size);
    memcpy(frame.bytes + header - size, (way == OUT ? peer : own)->bytes, size);
    memcpy(frame.bytes + header, packet, IBH_PROBE_PACKET);
    if (way == IN)
        frame.bytes[header] = six ? 129 : 0;
    if (way == IN && length == IBH_PROBE_PACKET)
        write_sum(frame.bytes + header, length, frame.bytes + header - 32, six);
    return frame;
}

void pass_by(const World *world, int ifindex, Frame frame, Way way)
{
    g_autofree guint8 *bytes = g_memdup(frame.bytes, (guint)MAX(frame.length, 1)); /* a sanitizer sees what is behind */
    const IbhHeard heard = {.ifindex = ifindex,
                            .protocol = frame.protocol,
                            .outgoing = way == OUT,
                            .bytes = bytes,
                            .length = frame.length,
                            .sender = ibh_lladdr_from_bytes(frame.sender ? frame.sender : bytes, frame.sender ? 6 : 0)};

    ibh_probe_hear(world->probe, &heard);
}

void pass(const World *world, guint pair, Frame frame, Way way)
{
    pass_by(world, ibh_probe_link(pair_at(world, pair))->ifindex, frame, way);
}

/* Request and reply, `ms` apart. */
void exchange(const World *world, guint pair, guint number, int ms)
{
    guint8 bytes[IBH_PROBE_PACKET];
    IbhPacket reply = reply_to(world, pair, number, bytes);

    ibh_probe_note_sent(pair_at(world, pair), number, 1000000);
    pass(world, pair, echo_frame(world, pair, number, OUT), OUT);
    pass(world, pair, echo_frame(world, pair, number, IN), IN);
    assert_true(ibh_probe_take_reply(world->probe, &reply, 1000000 + ms * 1000));
}

/* All is well: 3 replies to each, and hardware addresses as the peers should have. */
void answer_all(World *world)
{
    g_autoptr(GArray) neighbours = g_array_new(FALSE, TRUE, sizeof(IbhNeighbour));

    for (guint i = 0; i < world->probe->pairs->len; i++) {
        IbhProbePair *pair = pair_at(world, i);
        IbhNeighbour neighbour = {.ifindex = ibh_probe_source(pair)->nic->link->ifindex,
                                  .ip = *ibh_probe_peer(pair),
                                  .lladdr = {MAC((guint8)(16 + pair->peer))},
                                  .lladdr_len = 6};

        neighbour.lladdr[4] = (guint8)((16 + pair->peer) >> 8);

        for (guint number = 0; number < 3; number++)
            exchange(world, i, number, 1);
        pair->route.oif = neighbour.ifindex;
        if (pair->hop)
            pair->hop->is_begun = TRUE;
        if (pair->on_link && !ibh_probe_is_ipv6(pair)) { /* which is asked anew, once */
            claim(world, i, ibh_lladdr_from_bytes(neighbour.lladdr, 6), 1);
            pair->hop->questions = 1;
        }
        g_array_append_val(neighbours, neighbour);
        pair->step = IBH_STEP_SETTLED;
    }
    ibh_probe_learn(world->probe, neighbours);
    for (guint i = 0; i < world->probe->pairs->len; i++)
        pair_at(world, i)->step = IBH_STEP_WAITS;
}

/* "ib1 error probe-lost, …", of what is wrong. */
char *verdict(World *world)
{
    GString *text = g_string_new(NULL);

    ibh_probe_judge(world->probe);
    assert_findings_speak(world->probe->findings);
    for (guint i = 0; i < world->probe->findings->len; i++) {
        const IbhFinding *finding = g_ptr_array_index(world->probe->findings, i);

        g_string_append_printf(text, "%s%s%s%s %s", i ? ", " : "", first_iface(finding),
                               finding->ifaces->len ? " " : "", ibh_severity_name(finding->severity), finding->code);
    }
    return g_string_free(text, FALSE);
}

gboolean is_bad(const IbhProbePair *pair)
{
    g_autoptr(GPtrArray) problems = ibh_probe_problems(pair);

    return problems->len > 0;
}

void check_verdict(World *world, const char *expected, guint bad_pairs)
{
    g_autofree char *got = verdict(world);
    guint bad = 0;

    assert_string_equal(got, expected);
    for (guint i = 0; i < world->probe->pairs->len; i++)
        bad += is_bad(pair_at(world, i)) ? 1 : 0;
    assert_int_equal(bad, bad_pairs);
}

World look_well(const char *text, const char *line)
{
    World world = look(text, line);

    answer_all(&world);
    return world;
}

void check_message(const World *world, guint i, const char *part)
{
    const char *message = ((const IbhFinding *)g_ptr_array_index(world->probe->findings, i))->message;

    if (!strstr(message, part))
        fail_msg("“%s” is not in: %s", part, message);
}

static char *report_in(World *world, IbhWriter *writer, const IbhStyle *style)
{
    IbhReport what = {.action = IBH_ACTION_PROBE, .rails = world->rails, .probe = world->probe};

    ibh_probe_judge(world->probe);
    what.findings = world->probe->findings;
    return ibh_report(&what, writer, style);
}

char *report(World *world, IbhWriter *writer, gboolean quiet)
{
    return report_in(world, writer, &(IbhStyle){.quiet = quiet});
}

char *report_on_terminal(World *world)
{
    return report_in(world, ibh_report_text, &(IbhStyle){.width = 80});
}
