/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worlds for tests of --probe: rails, what is asked from them, what comes back, and what is said of it.
 */
#pragma once

#include "case_text.h"
#include "cli/cli.h"

#define IB0 "nic ib0 infiniband rdma mlx5_0/1 address 02:00:00:00:00:02\n"
#define IB1 "nic ib1 infiniband rdma mlx5_1/1 address 02:00:00:00:00:03\n"
#define ETH0 "nic eth0 index 9\nip address add 192.168.1.5/24 dev eth0\n"
#define HOST IB0 IB1 ETH0 "ip address add 172.16.34.1/16 dev ib0\nip address add 172.16.34.2/16 dev ib1\n"
#define HOST6 HOST "ip address add fd00:16::34:1/64 dev ib0\nip address add fd00:16::34:2/64 dev ib1\n"
#define TWO_PEERS "--probe 172.16.16.1 172.16.16.2"

#define RDMA " --rdma"
#define IDLE                                                                                                           \
    HOST "nic ib2 infiniband rdma mlx5_2/1\nip address add 172.17.0.2/16 dev ib2\n"                                    \
         "nic ib3 infiniband rdma mlx5_3/1\nip address add 172.17.0.3/16 dev ib3\n"

#define TAG 0xdeadbeef /* of echoes */

#define MAC(n) 2, 0, 0, 0, 0, n /* the bytes of an initializer */

typedef struct {
    IbhCase *cas;
    IbhConfig *config;
    IbhRails *rails;
    char **argv; /* to which the options point */
    IbhOptions options;
    IbhProbe *probe;
    GError *error;
} World;

void world_clear(World *world);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(World, world_clear)

/* `line`: as behind "ib-hook", beginning with "--probe". The first one may fail, with world.error. */
World try_look(const char *text, const char *line);
World look(const char *text, const char *line);
/* The same, and all is well: 3 replies to each, and hardware addresses as the peers should have. */
World look_well(const char *text, const char *line);
void answer_all(World *world);

IbhProbePair *pair_at(const World *world, guint i);
/* Of the pair's next hop, a hardware address that claims it, and has answered so often. */
void claim(const World *world, guint pair, IbhLladdr lladdr, guint answers);
IbhPacket reply_to(const World *world, guint pair, guint number, guint8 bytes[IBH_PROBE_PACKET]);
void exchange(const World *world, guint pair, guint number, int ms); /* request and reply, so far apart */

/* A packet that passes a NIC. */
#define FRAME_MAX 128
typedef enum { OUT, IN } Way;
typedef struct {
    guint8 bytes[FRAME_MAX];
    gsize length;
    guint16 protocol;
    const guint8 *sender;
} Frame;

Frame echo_frame(const World *world, guint pair, guint number, Way way);
/* By the pair's NIC. */
void pass(const World *world, guint pair, Frame frame, Way way);
void pass_by(const World *world, int ifindex, Frame frame, Way way);

gboolean is_bad(const IbhProbePair *pair);
char *verdict(World *world); /* "ib1 error probe-lost, …" */
void check_verdict(World *world, const char *expected, guint bad_pairs);
void check_message(const World *world, guint i, const char *part); /* of finding i */
char *report(World *world, IbhWriter *writer, gboolean quiet);
char *report_on_terminal(World *world); /* of 80 columns */
