/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts that a host's RDMA ports report, and what is wrong with them. Pure.
 *
 * They come from sysfs and procfs (read_io.c). A fact that could not be read is unknown, and has no finding.
 */
#pragma once

#include "check/finding.h"
#include "plan/rails.h"

#define IBH_UNKNOWN (-1)

typedef enum { IBH_LAYER_UNKNOWN, IBH_LAYER_INFINIBAND, IBH_LAYER_ETHERNET } IbhLayer;

#define IBH_PORT_INIT 2
#define IBH_PORT_ACTIVE 4
#define IBH_PHYS_SLEEP 1
#define IBH_PHYS_POLLING 2
#define IBH_PHYS_DISABLED 3
#define IBH_PHYS_LINK_UP 5
#define IBH_PHYS_TEST 7

#define IBH_N_COUNTERS 12
#define IBH_N_LINK_COUNTERS                                                                                            \
    8 /* the first: of a bad link; then of packets that get lost on their way, as by such a link */
extern const char *const ibh_counters[IBH_N_COUNTERS]; /* below the port */

/* An entry of a port's GID table that is not empty. */
typedef struct {
    int index;
    IbhIp ip; /* IPv4 where it stands for such an address */
    int roce; /* version 1, 2; IBH_UNKNOWN */
    char ndev[64];
} IbhGid;

/* Where a PCI device is: the bridges above it. */
typedef struct {
    char path[256]; /* "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"; "": not known */
    int node;       /* NUMA; IBH_UNKNOWN: not known, or there is one only */
} IbhPlace;

typedef enum { IBH_FAR, IBH_SAME_NODE, IBH_SAME_BRIDGE, IBH_SAME_ROOT_PORT, IBH_SAME_SWITCH } IbhNearness;
IbhNearness ibh_place_compare(const IbhPlace *a, const IbhPlace *b);
const char *ibh_nearness_name(IbhNearness nearness); /* "PCIe switch" */

typedef struct {
    char name[32]; /* "0000:3d:00.0" */
    IbhPlace place;
} IbhGpu;

/* Facts of a device, the same for all of its ports. Unknown texts are "", unknown numbers IBH_UNKNOWN. */
typedef struct {
    char name[64];  /* "mlx5_0" */
    char board[64]; /* "MT_0000000223", or the model */
    char model[64]; /* "MT4123" */
    char slot[32];  /* its PCI address, "0000:3b:00.0"; "": none */
    IbhPlace place;
    guint64 node_guid;              /* 0: not known */
    int node_type;                  /* 4: iWARP */
    int pcie_lanes, pcie_max_lanes; /* 16 */
    int pcie_speed, pcie_max_speed; /* 0.1 GT/s */
} IbhRdmaDevice;

typedef struct {
    gboolean is_known;    /* it could be read */
    guint64 prefix, guid; /* both halves; 0: none */
} IbhPortGid;

typedef struct {
    int tenths, lanes; /* 0.1 Gb/s; 4 */
} IbhRate;

typedef struct {
    int number;    /* the kernel's; IBH_UNKNOWN: not known */
    char name[32]; /* "LinkUp" */
} IbhPortState;

typedef struct IbhPort {
    char device[64]; /* "mlx5_0" */
    guint device_at; /* its place among the devices */
    int number;
    char name[72]; /* "mlx5_0/1" */
    gboolean iwarp;
    IbhLayer layer;
    IbhPortState state, phys;
    int sm_lid;            /* IBH_UNKNOWN: not known */
    IbhPortGid gid;        /* the first of its table: the subnet's prefix and the port's GUID */
    gboolean is_steady;    /* SM lid and first GID were the same when they were read again */
    GArray *gids;          /* IbhGid: of RoCE */
    gboolean has_all_gids; /* all of its table was read */
    int roce;              /* the version that new connections use: 1, 2, IBH_UNKNOWN */
    IbhRate rate;
    gint64 errors[IBH_N_COUNTERS];     /* IBH_UNKNOWN: not known */
    gint64 new_errors[IBH_N_COUNTERS]; /* how much the counter grew during a short wait */
    GArray *pkeys;                     /* guint16: of its P_Key table */
    gboolean has_all_pkeys;
} IbhPort;

/* A netdev of an RDMA port. */
typedef struct IbhPortNic {
    char iface[IFNAMSIZ];
    char rdma[72];          /* the port's name; "": none known */
    guint16 type;           /* ARPHRD_* */
    gboolean up;            /* administratively */
    gboolean usable;        /* and with carrier */
    gboolean rail;          /* it shares a subnet with another netdev */
    gboolean used;          /* it has an address */
    GArray *subnets;        /* IbhPrefix */
    GArray *addresses;      /* IbhIp */
    guint64 address_prefix; /* IPoIB: the subnet prefix in its hardware address; 0: none */
    int mtu;                /* IBH_UNKNOWN: not known */
    char mode[12];          /* "datagram", "connected"; "": not known */
    int pkey;               /* IBH_UNKNOWN: none */
} IbhPortNic;

enum { IBH_MODULE_IPOIB, IBH_MODULE_UVERBS, IBH_MODULE_UCM, IBH_MODULE_UMAD, IBH_N_MODULES };
extern const char *const ibh_modules[IBH_N_MODULES]; /* "ib_ipoib" */

/* An adapter without an RDMA device. */
typedef struct {
    char name[32];             /* its PCI address; "": none */
    gboolean is_hca;           /* of InfiniBand or Omni-Path: it is there for RDMA */
    const char *driver, *rdma; /* its driver, and that one's RDMA part; NULL: it has no driver */
} IbhBare;

typedef struct IbhFabric {
    GArray *devices;                 /* IbhRdmaDevice */
    GArray *ports;                   /* IbhPort */
    GArray *nics;                    /* IbhPortNic */
    GArray *gpus;                    /* IbhGpu: ibh_fabric_read_gpus() */
    gboolean complete;               /* /sys itself: a missing netdev is in another network namespace */
    gboolean modules[IBH_N_MODULES]; /* loaded, built in, or not known */
    IbhBare bare;
    gint64 memlock; /* bytes that a process may lock, G_MAXINT64: unlimited, IBH_UNKNOWN */
} IbhFabric;

IbhFabric *ibh_fabric_new(void);
void ibh_fabric_free(IbhFabric *fabric);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhFabric, ibh_fabric_free)

const IbhRdmaDevice *ibh_fabric_device(const IbhFabric *fabric, const IbhPort *port);
const IbhPort *ibh_fabric_port(const IbhFabric *fabric, const IbhPortNic *nic); /* NULL: none */
IbhPortNic *ibh_fabric_nic(const IbhFabric *fabric, const char *iface);         /* NULL: none */
/* A subnet that both have, of `a`; NULL: none. */
const IbhPrefix *ibh_port_nics_shared_subnet(const IbhPortNic *a, const IbhPortNic *b);
/* Rails of one kind in one subnet. */
gboolean ibh_port_nics_are_beside(const IbhPortNic *nic, const IbhPortNic *other);

/* Sets which netdevs are rails, have an address, and their subnets. */
void ibh_fabric_use_rails(IbhFabric *fabric, const IbhRails *rails);

/* Appends to `findings` (IbhFinding *). `only`: the interfaces that it is about; NULL: all. */
void ibh_fabric_judge(const IbhFabric *fabric, const char *const *only, GPtrArray *findings);
/* Whether as many ports have a rail as rails= wants. */
void ibh_fabric_judge_count(const IbhFabric *fabric, const IbhRails *rails, guint wanted, GPtrArray *findings);
