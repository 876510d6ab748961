/*
 * What the RDMA ports of a host say of themselves: facts, which fabric_judge judges. Pure.
 *
 * Facts come from sysfs and procfs alone (fabric_read.c), so a captured tree of another host is judged as well as this
 * one. What could not be read is unknown, and nothing is found in it.
 */
#pragma once

#include "plan/rails.h"

#define IBH_UNKNOWN (-1)

typedef enum { IBH_LAYER_UNKNOWN, IBH_LAYER_INFINIBAND, IBH_LAYER_ETHERNET } IbhLayer;

/* Numbers of state and phys_state are the kernel's. */
#define IBH_PORT_INIT 2
#define IBH_PORT_ACTIVE 4
#define IBH_PHYS_POLLING 2
#define IBH_PHYS_DISABLED 3
#define IBH_PHYS_LINK_UP 5

typedef struct {
    char device[64]; /* "mlx5_0" */
    int number;
    char name[72]; /* "mlx5_0/1" */
    gboolean iwarp;
    IbhLayer layer;
    int state, phys_state, sm_lid; /* IBH_UNKNOWN: not known */
    char guid[24];                 /* "0x248a070300b01cfe", "": not known */
    GArray *pkeys;                 /* guint16: of its P_Key table */
    gboolean has_all_pkeys;
    gboolean has_roce_v1, has_roce_v2; /* it has GIDs of this version */
    int roce;                          /* the version that new connections use: 1, 2, IBH_UNKNOWN */
} IbhPort;

/* A netdev of an RDMA port. */
typedef struct {
    char iface[IFNAMSIZ];
    char rdma[72];   /* the port's name; "": none known */
    guint16 type;    /* ARPHRD_* */
    gboolean up;     /* administratively */
    gboolean usable; /* and with carrier */
    gboolean rail;   /* it shares a subnet with another one */
    gboolean used;   /* it has an address */
    GArray *subnets; /* IbhPrefix */
    int mtu;         /* IBH_UNKNOWN: not known */
    char mode[12];   /* "datagram", "connected"; "": not known */
    int pkey;        /* IBH_UNKNOWN: none */
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
    GArray *ports;        /* IbhPort */
    GArray *nics;         /* IbhPortNic */
    gboolean captured;    /* of another host: there is no netlink to ask */
    gboolean complete;    /* a netdev that is not there is in another network namespace */
    gboolean knows_usage; /* `used` and `rail` are known */
    gboolean knows_modules;
    gboolean modules[IBH_N_MODULES]; /* loaded, or built in */
    char hca[32];                    /* a PCI device that is an InfiniBand or Omni-Path adapter; "": none seen */
    gint64 memlock;                  /* bytes that a process may lock, G_MAXINT64: unlimited, IBH_UNKNOWN */
} IbhFabric;

IbhFabric *ibh_fabric_new(void);
void ibh_fabric_free(IbhFabric *fabric);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhFabric, ibh_fabric_free)

IbhPortNic *ibh_fabric_nic(const IbhFabric *fabric, const char *iface); /* NULL: none */
/* A subnet that both have, of `a`; NULL: none. */
const IbhPrefix *ibh_find_shared_subnet(const IbhPortNic *a, const IbhPortNic *b);
const char *ibh_module_name(IbhModule module);

/* Who of its netdevs is a rail, has an address, and where: as this namespace's rails say, … */
void ibh_fabric_use_rails(IbhFabric *fabric, const IbhRails *rails);
/* … or, without them, as their own subnets say. */
void ibh_fabric_use_subnets(IbhFabric *fabric);
