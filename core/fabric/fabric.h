/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts about a host's RDMA ports, and the findings about these ports. Pure.
 *
 * read_io.c and modules_io.c read the facts from sysfs and procfs. A fact that cannot be read is unknown, and causes no
 * finding.
 */
#pragma once

#include "check/finding.h"
#include "plan/rails.h"

#define IBH_UNKNOWN (-1)

typedef enum { IBH_LAYER_UNKNOWN, IBH_LAYER_INFINIBAND, IBH_LAYER_ETHERNET } IbhLayer;

/* The kernel's numbers for the state of a port, and for its physical state. */
#define IBH_PORT_INIT 2
#define IBH_PORT_ACTIVE 4
#define IBH_PHYS_SLEEP 1
#define IBH_PHYS_POLLING 2
#define IBH_PHYS_DISABLED 3
#define IBH_PHYS_LINK_UP 5
#define IBH_PHYS_TEST 7

#define IBH_N_COUNTERS 11
#define IBH_N_LINK_COUNTERS 7 /* the first 7 count errors of the link; the others count packets that were lost */
extern const char *const ibh_counters[IBH_N_COUNTERS]; /* files below the port's directory */

/* A non-empty entry of a port's GID table. */
typedef struct {
    int index;
    IbhIp ip;      /* the GID, or the IPv4 address for which the GID stands */
    int roce;      /* the RoCE version: 1, 2 or IBH_UNKNOWN */
    char ndev[64]; /* the netdev of the entry; "": not known */
} IbhGid;

/* Where a PCI device is. */
typedef struct {
    char path[256]; /* below /sys, "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"; "": not known */
    int node;       /* the NUMA node; IBH_UNKNOWN: not known, as on many hosts that have only one node */
} IbhPlace;

/* What two PCI devices have in common, from the farthest to the nearest. IBH_FAR: only the host, or not known. */
typedef enum { IBH_FAR, IBH_SAME_NODE, IBH_SAME_BRIDGE, IBH_SAME_ROOT_PORT, IBH_SAME_SWITCH } IbhNearness;
IbhNearness ibh_place_compare(const IbhPlace *a, const IbhPlace *b);
const char *ibh_nearness_name(IbhNearness nearness); /* "PCIe switch" */

typedef struct {
    char name[32]; /* "0000:3d:00.0" */
    IbhPlace place;
} IbhGpu;

/* The facts that all ports of an RDMA device share. Unknown texts are "", unknown numbers IBH_UNKNOWN, except
 * node_guid. */
typedef struct {
    char name[64];  /* "mlx5_0" */
    char board[64]; /* "MT_0000000223", or the model */
    char model[64]; /* "MT4123" */
    char slot[32];  /* the PCI address, "0000:3b:00.0"; "": not a PCI device */
    IbhPlace place;
    guint64 node_guid;              /* 0: not known */
    int node_type;                  /* 4 is iWARP */
    int pcie_lanes, pcie_max_lanes; /* such as 16 */
    int pcie_speed, pcie_max_speed; /* in 0.1 GT/s */
} IbhRdmaDevice;

typedef struct {
    gboolean is_known;    /* the GID could be read */
    guint64 prefix, guid; /* the two halves of the GID; 0: none, or not known */
} IbhPortGid;

typedef struct {
    int tenths; /* in 0.1 Gb/s; or IBH_UNKNOWN */
    int lanes;  /* such as 4; or IBH_UNKNOWN */
} IbhRate;

typedef struct {
    int number;    /* the kernel's number, such as IBH_PORT_ACTIVE; or IBH_UNKNOWN */
    char name[32]; /* "LinkUp"; "unknown": not known */
} IbhPortState;

typedef struct IbhPort {
    char device[64]; /* "mlx5_0" */
    guint device_at; /* index in IbhFabric.devices */
    int number;
    char name[72]; /* "mlx5_0/1" */
    gboolean iwarp;
    IbhLayer layer;
    IbhPortState state, phys;
    int sm_lid;            /* the lid of the subnet manager; 0: none; IBH_UNKNOWN: not known */
    IbhPortGid gid;        /* the first GID of the table; InfiniBand: the subnet prefix and the port GUID */
    gboolean is_steady;    /* FALSE if the SM lid or the subnet prefix had changed when they were read again */
    GArray *gids;          /* IbhGid: the GID table of a RoCE port */
    gboolean has_all_gids; /* the whole GID table was read */
    int roce;              /* the RoCE version of new connections: 1, 2 or IBH_UNKNOWN */
    IbhRate rate;
    gint64 errors[IBH_N_COUNTERS];     /* the values of ibh_counters; IBH_UNKNOWN: not known */
    gint64 new_errors[IBH_N_COUNTERS]; /* how much each counter had grown when it was read again */
    GArray *pkeys;                     /* guint16: the P_Key table of an InfiniBand port; 0: a free entry */
    gboolean has_all_pkeys;            /* the whole P_Key table was read */
} IbhPort;

/* A netdev of an RDMA port; also an InfiniBand netdev whose port is not known, and a rail without an RDMA port of its
 * own (for example a macvlan, or a NIC with manage=yes). */
typedef struct IbhPortNic {
    char iface[IFNAMSIZ];
    char rdma[72];     /* the name of the port; "": none, or not known */
    guint16 type;      /* ARPHRD_* */
    gboolean up;       /* administratively up */
    gboolean usable;   /* up and with carrier */
    gboolean rail;     /* a rail, or a known rail with a fault that ibh_nic_lack() finds */
    gboolean used;     /* has an address that counts (ibh_address_counts()) */
    GArray *subnets;   /* IbhPrefix: the subnets of `addresses`; then, except for InfiniBand, the prefixes of remote= */
    GArray *addresses; /* IbhIp: the addresses that count */
    guint64 address_prefix; /* the subnet prefix in an IPoIB hardware address; 0: none */
    int mtu;                /* IBH_UNKNOWN: not known */
    char mode[12];          /* "datagram", "connected"; "": not known */
    int pkey;               /* IBH_UNKNOWN: none, or not known */
} IbhPortNic;

enum { IBH_MODULE_IPOIB, IBH_MODULE_UVERBS, IBH_MODULE_UCM, IBH_MODULE_UMAD, IBH_N_MODULES };
extern const char *const ibh_modules[IBH_N_MODULES]; /* "ib_ipoib" */

/* An adapter without an RDMA device. */
typedef struct {
    char name[32];      /* the PCI address; "": there is no such adapter */
    gboolean is_hca;    /* an InfiniBand or Omni-Path adapter, which is certainly there for RDMA */
    const char *driver; /* its driver; NULL: it has none */
    const char *rdma;   /* the module that adds RDMA to the driver; NULL: the adapter has no driver */
    gboolean is_loaded; /* this module is loaded, so it could not use the adapter */
} IbhBare;

typedef struct IbhFabric {
    GArray *devices;                 /* IbhRdmaDevice */
    GArray *ports;                   /* IbhPort */
    GArray *nics;                    /* IbhPortNic */
    GArray *gpus;                    /* IbhGpu: empty until ibh_fabric_read_gpus() */
    gboolean complete;               /* TRUE: read from /sys itself, so if a port has no netdev here, the netdev is in
                                        another network namespace, or there is none; FALSE: read from a copy, which
                                        may lack netdevs */
    gboolean modules[IBH_N_MODULES]; /* FALSE: certainly not loaded; TRUE: loaded or built in, or not known */
    IbhBare bare;
    gint64 memlock; /* how many bytes a process may lock; G_MAXINT64: unlimited; or IBH_UNKNOWN */
} IbhFabric;

IbhFabric *ibh_fabric_new(void);
void ibh_fabric_free(IbhFabric *fabric);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhFabric, ibh_fabric_free)

const IbhRdmaDevice *ibh_fabric_device(const IbhFabric *fabric, const IbhPort *port);
const IbhPort *ibh_fabric_port(const IbhFabric *fabric, const IbhPortNic *nic); /* NULL if there is none */
IbhPortNic *ibh_fabric_nic(const IbhFabric *fabric, const char *iface);         /* NULL if there is none */
/* Returns the first subnet of `a` that `b` has, too, or NULL. */
const IbhPrefix *ibh_port_nics_shared_subnet(const IbhPortNic *a, const IbhPortNic *b);
/* TRUE if both are rails of the same link type and share a subnet. A rail with a subnet counts as beside itself. */
gboolean ibh_port_nics_are_beside(const IbhPortNic *nic, const IbhPortNic *other);

/* Sets the members of IbhPortNic that depend on rails: rail, used, subnets, addresses. To be called once, before
 * ibh_fabric_judge(). */
void ibh_fabric_use_rails(IbhFabric *fabric, const IbhRails *rails);

/* Adds to `findings` what is wrong with RDMA on the host, with the interfaces in `only`, and with their RDMA ports. If
 * `only` is NULL, looks at all interfaces and ports. */
void ibh_fabric_judge(const IbhFabric *fabric, const char *const *only, GPtrArray *findings);
/* Adds a finding if the number of ports that have a rail is not `wanted` (rails=). */
void ibh_fabric_judge_count(const IbhFabric *fabric, const IbhRails *rails, guint wanted, GPtrArray *findings);
