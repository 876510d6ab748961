/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts that a host's RDMA ports report, which fabric_judge judges. Pure.
 *
 * They come from sysfs and procfs alone (fabric_read.c), so a captured tree of another host can be judged as well. A
 * fact that could not be read is unknown, and has no finding.
 */
#pragma once

#include "plan/rails.h"

#define IBH_UNKNOWN (-1)

typedef enum { IBH_LAYER_UNKNOWN, IBH_LAYER_INFINIBAND, IBH_LAYER_ETHERNET } IbhLayer;

/* Numbers of state and phys_state are the kernel's. */
#define IBH_PORT_INIT 2
#define IBH_PORT_ACTIVE 4
#define IBH_PHYS_SLEEP 1
#define IBH_PHYS_POLLING 2
#define IBH_PHYS_DISABLED 3
#define IBH_PHYS_LINK_UP 5
#define IBH_PHYS_TEST 7

/* Counters of errors that a sound link does not have. */
typedef enum {
    IBH_COUNTER_SYMBOL,
    IBH_COUNTER_RECOVERY,
    IBH_COUNTER_DOWNED,
    IBH_COUNTER_RECEIVE,
    IBH_COUNTER_INTEGRITY,
    IBH_COUNTER_OVERRUN,
    IBH_COUNTER_VL15,
    IBH_COUNTER_ICRC,
    IBH_N_COUNTERS
} IbhCounter;

/* An entry of a port's GID table that is not empty. */
typedef struct {
    int index;
    IbhIp ip; /* IPv4 where it stands for such an address */
    int roce; /* version 1, 2; IBH_UNKNOWN */
} IbhGid;

/* Facts of a device, the same for all of its ports. Unknown texts are "", unknown numbers IBH_UNKNOWN. */
typedef struct {
    char name[64];                  /* "mlx5_0" */
    char board[64];                 /* "MT_0000000223", or the model, "MT4123" */
    char firmware[64];              /* "20.31.1014" */
    char card[32];                  /* its PCI address without the function, "0000:3b:00" */
    int pcie_lanes, pcie_max_lanes; /* 16 */
    int pcie_speed, pcie_max_speed; /* 0.1 GT/s */
} IbhRdmaDevice;

typedef struct {
    char device[64]; /* "mlx5_0" */
    guint device_at; /* its place among the devices */
    int number;
    char name[72]; /* "mlx5_0/1" */
    gboolean iwarp;
    IbhLayer layer;
    int state, phys_state, sm_lid;     /* IBH_UNKNOWN: not known */
    char guid[24];                     /* "0x248a070300b01cfe", "": not known */
    guint64 gid_prefix, gid_guid;      /* both halves of the first GID; 0: not known, or none */
    gboolean is_steady;                /* SM lid and first GID were the same when they were read again */
    GArray *gids;                      /* IbhGid */
    gboolean has_gid_table;            /* there is a GID table, and its first entry could be read, or it is empty */
    gboolean has_all_gids;             /* all of it was read */
    int n_gid_types;                   /* how many of the first have a type */
    int rate, lanes;                   /* 0.1 Gb/s; 4 */
    gint64 errors[IBH_N_COUNTERS];     /* IBH_UNKNOWN: not known */
    gint64 new_errors[IBH_N_COUNTERS]; /* how much the counter grew during a short wait */
    GArray *pkeys;                     /* guint16: of its P_Key table */
    gboolean has_all_pkeys;
    gboolean has_roce_v1, has_roce_v2; /* it has GIDs of this version */
    int roce;                          /* the version that new connections use: 1, 2, IBH_UNKNOWN */
} IbhPort;

/* A netdev of an RDMA port. */
typedef struct {
    char iface[IFNAMSIZ];
    char rdma[72];     /* the port's name; "": none known */
    guint16 type;      /* ARPHRD_* */
    gboolean up;       /* administratively */
    gboolean usable;   /* and with carrier */
    gboolean rail;     /* it shares a subnet with another netdev */
    gboolean used;     /* it has an address */
    GArray *subnets;   /* IbhPrefix */
    GArray *addresses; /* IbhIp: all of IPv6, of IPv4 those of this host; a captured tree tells only its subnets */
    int mtu;           /* IBH_UNKNOWN: not known */
    char mode[12];     /* "datagram", "connected"; "": not known */
    int pkey;          /* IBH_UNKNOWN: none */
} IbhPortNic;

typedef enum {
    IBH_MODULE_CORE,
    IBH_MODULE_IPOIB,
    IBH_MODULE_UVERBS,
    IBH_MODULE_UCM,
    IBH_MODULE_UMAD,
    IBH_N_MODULES
} IbhModule;

typedef struct IbhFabric {
    GArray *devices;      /* IbhRdmaDevice */
    GArray *ports;        /* IbhPort */
    GArray *nics;         /* IbhPortNic */
    gboolean captured;    /* of another host: netlink cannot be asked */
    gboolean complete;    /* a missing netdev is in another network namespace */
    gboolean knows_usage; /* `used` and `rail` are known */
    gboolean knows_modules;
    gboolean modules[IBH_N_MODULES]; /* loaded, or built in */
    char hca[32];                    /* a PCI device that is an InfiniBand or Omni-Path adapter; "": none seen */
    char bare_hca[32];               /* an adapter whose driver is loaded without its RDMA part; "": none seen */
    const char *driver;              /* a driver that is loaded without its RDMA part; NULL: none */
    const char *rdma_driver;         /* … the module of that part */
    gboolean needs_rdma_driver;      /* without RDMA devices: it may be there for Ethernet only */
    gint64 memlock;                  /* bytes that a process may lock, G_MAXINT64: unlimited, IBH_UNKNOWN */
} IbhFabric;

IbhFabric *ibh_fabric_new(void);
void ibh_fabric_free(IbhFabric *fabric);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhFabric, ibh_fabric_free)

const IbhRdmaDevice *ibh_fabric_device(const IbhFabric *fabric, const IbhPort *port); /* NULL: none */
typedef enum { IBH_SAME, IBH_PERHAPS_SAME, IBH_OTHER } IbhSameness;
IbhSameness ibh_compare_boards(const IbhFabric *fabric, const IbhPort *port, const IbhPort *other);
const IbhPort *ibh_fabric_port(const IbhFabric *fabric, const IbhPortNic *nic); /* NULL: none */
IbhPortNic *ibh_fabric_nic(const IbhFabric *fabric, const char *iface);         /* NULL: none */
/* A subnet that both have, of `a`; NULL: none. */
const IbhPrefix *ibh_find_shared_subnet(const IbhPortNic *a, const IbhPortNic *b);
/* Rails of one kind in one subnet. */
gboolean ibh_are_beside(const IbhPortNic *nic, const IbhPortNic *other);
const char *ibh_module_name(IbhModule module);
const char *ibh_counter_name(IbhCounter counter);

/* Sets which netdevs are rails, have an address, and their subnets: by this namespace's rails, … */
void ibh_fabric_use_rails(IbhFabric *fabric, const IbhRails *rails);
/* … or, without them, as their own subnets say. */
void ibh_fabric_use_subnets(IbhFabric *fabric);
