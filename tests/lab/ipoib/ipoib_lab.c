/* SPDX-License-Identifier: GPL-2.0-or-later */
// SPDX-License-Identifier: GPL-2.0
/*
 * What IPoIB looks like to the rest of the kernel, without InfiniBand: for the lab only.
 *
 * Every network namespace gets ports ib0, ib1, …: netdevs of type InfiniBand with 20-byte hardware addresses. All are
 * on one hub, so that namespaces reach each other, and nothing else: by the exact 20 bytes within one partition. The
 * kernel itself does the rest (ARP and neighbour discovery, the multicast mapping of RFC 4391 and 4392).
 *
 * A hardware address is what ib_ipoib's is: a flag, the queue pair's number (3 bytes, another one after every restart),
 * the subnet's prefix (8), the port's GUID (8: it stays, as do names).
 */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>

#define ADDRESS_LEN 20
#define GID_AT 4 /* in an address; a multicast GID begins with 0xff */
#define GUID_AT 12
#define PKEY_AT 8 /* in a multicast address */
#define FULL_MEMBER 0x8000
#define DATAGRAM_MTU 2044
#define CONNECTED_MTU 65520

static int nics = 2;
module_param(nics, int, 0444);
MODULE_PARM_DESC(nics, "ports in every network namespace");

static unsigned long long subnet_prefix = 0xfe80000000000000ull;
module_param(subnet_prefix, ullong, 0444);
MODULE_PARM_DESC(subnet_prefix, "what the subnet manager gives out: the first half of every GID");

struct nic {
    struct net_device *dev;
    struct nic *parent; /* of a P_Key child */
    u16 pkey;
    bool connected, umcast;
    struct list_head children, sibling;
    struct list_head on_hub; /* while it is up */
};

/* What the driver's header_ops put in front of a packet; only `protocol` and what follows would be on the wire. */
struct header {
    u8 to[ADDRESS_LEN];
    __be16 protocol;
    __be16 reserved;
} __packed;

static LIST_HEAD(hub); /* written under RTNL, read under RCU */
static u32 next_qpn;

/* ---- packets ---------------------------------------------------------------------------------- */

static int header_create(struct sk_buff *skb, struct net_device *dev, unsigned short type, const void *to,
                         const void *from, unsigned int len)
{
    struct header *header = skb_push(skb, sizeof(*header));

    memcpy(header->to, to, ADDRESS_LEN);
    header->protocol = htons(type);
    header->reserved = 0;
    return sizeof(*header);
}

static const struct header_ops header_ops = {.create = header_create};

static void receive(struct nic *nic, struct sk_buff *skb, int type)
{
    struct header *header = (struct header *)skb->data;

    skb_orphan(skb);
    skb_scrub_packet(skb, true);
    skb->dev = nic->dev;
    skb->protocol = header->protocol;
    skb->pkt_type = type;
    skb_reset_mac_header(skb);
    skb_pull(skb, sizeof(*header));
    skb_reset_network_header(skb);
    nic->dev->stats.rx_packets++;
    nic->dev->stats.rx_bytes += skb->len;
    netif_rx(skb);
}

static netdev_tx_t drop(struct sk_buff *skb, struct net_device *dev)
{
    dev->stats.tx_dropped++;
    kfree_skb(skb);
    return NETDEV_TX_OK;
}

static void send_unicast(struct nic *from, struct sk_buff *skb)
{
    const struct header *header = (struct header *)skb->data;
    struct nic *nic;

    list_for_each_entry_rcu (nic, &hub, on_hub) {
        if (nic->pkey == from->pkey && !memcmp(nic->dev->dev_addr, header->to, ADDRESS_LEN)) {
            receive(nic, skb, PACKET_HOST);
            return;
        }
    }
    drop(skb, from->dev); /* a stale address: no such queue pair, or no path to it */
}

/* Broadcast is a group like others; it is always joined. The P_Key is part of a group's name. */
static bool has_joined(struct nic *nic, const u8 *group)
{
    bool joined = !memcmp(group, nic->dev->broadcast, ADDRESS_LEN);
    struct netdev_hw_addr *address;

    netif_addr_lock_bh(nic->dev);
    netdev_for_each_mc_addr (address, nic->dev)
        joined |= !memcmp(group, address->addr, ADDRESS_LEN);
    netif_addr_unlock_bh(nic->dev);
    return joined;
}

static void send_multicast(struct nic *from, struct sk_buff *skb)
{
    struct header *header = (struct header *)skb->data;
    int type;
    struct nic *nic;

    header->to[PKEY_AT] = from->pkey >> 8;
    header->to[PKEY_AT + 1] = from->pkey & 0xff;
    type = memcmp(header->to, from->dev->broadcast, ADDRESS_LEN) ? PACKET_MULTICAST : PACKET_BROADCAST;
    list_for_each_entry_rcu (nic, &hub, on_hub) {
        /* a copy, not a clone: each receiver pulls and scrubs its own */
        struct sk_buff *copy = nic != from && has_joined(nic, header->to) ? skb_copy(skb, GFP_ATOMIC) : NULL;

        if (copy)
            receive(nic, copy, type);
    }
    consume_skb(skb);
}

static netdev_tx_t start_xmit(struct sk_buff *skb, struct net_device *dev)
{
    struct nic *nic = netdev_priv(dev);
    const struct header *header = (struct header *)skb->data;
    bool multicast;

    if (!pskb_may_pull(skb, sizeof(*header)))
        return drop(skb, dev);
    header = (struct header *)skb->data;
    multicast = header->to[GID_AT] == 0xff;
    if (multicast && skb->len > DATAGRAM_MTU + sizeof(*header)) /* connected or not */
        return drop(skb, dev);
    dev->stats.tx_packets++;
    dev->stats.tx_bytes += skb->len - sizeof(*header);
    rcu_read_lock();
    if (multicast)
        send_multicast(nic, skb);
    else
        send_unicast(nic, skb);
    rcu_read_unlock();
    return NETDEV_TX_OK;
}

/* ---- the netdev ------------------------------------------------------------------------------- */

static int nic_init(struct net_device *dev)
{
    struct nic *nic = netdev_priv(dev);

    if (nic->parent)
        list_add_tail(&nic->sibling, &nic->parent->children);
    return 0;
}

static void nic_uninit(struct net_device *dev)
{
    struct nic *nic = netdev_priv(dev);

    if (nic->parent)
        list_del(&nic->sibling);
}

static int nic_open(struct net_device *dev)
{
    struct nic *nic = netdev_priv(dev);

    list_add_tail_rcu(&nic->on_hub, &hub);
    netif_carrier_on(dev);
    netif_start_queue(dev);
    return 0;
}

static int nic_stop(struct net_device *dev)
{
    struct nic *nic = netdev_priv(dev);

    netif_stop_queue(dev);
    netif_carrier_off(dev);
    list_del_rcu(&nic->on_hub);
    synchronize_net(); /* before it may be added again */
    return 0;
}

static int nic_change_mtu(struct net_device *dev, int mtu)
{
    struct nic *nic = netdev_priv(dev);

    if (mtu > (nic->connected ? CONNECTED_MTU : DATAGRAM_MTU))
        return -EINVAL;
    dev->mtu = mtu;
    return 0;
}

static int nic_iflink(const struct net_device *dev)
{
    const struct nic *nic = netdev_priv(dev);

    return nic->parent ? nic->parent->dev->ifindex : dev->ifindex;
}

static const struct net_device_ops netdev_ops = {
    .ndo_init = nic_init,
    .ndo_uninit = nic_uninit,
    .ndo_open = nic_open,
    .ndo_stop = nic_stop,
    .ndo_start_xmit = start_xmit,
    .ndo_change_mtu = nic_change_mtu,
    .ndo_get_iflink = nic_iflink,
};

static void set_hardware_address(struct net_device *dev, __be64 guid)
{
    __be32 qpn = cpu_to_be32(0x80000000u | (next_qpn++ & 0xffffff)); /* the flag: connected mode is possible */
    __be64 gid[2] = {cpu_to_be64(subnet_prefix), guid};
    u8 address[ADDRESS_LEN];

    memcpy(address, &qpn, sizeof(qpn));
    memcpy(address + GID_AT, gid, sizeof(gid));
    dev_addr_set(dev, address);
}

static void set_pkey(struct nic *nic, u16 pkey)
{
    nic->pkey = pkey | FULL_MEMBER;
    nic->dev->broadcast[PKEY_AT] = nic->pkey >> 8;
    nic->dev->broadcast[PKEY_AT + 1] = nic->pkey & 0xff;
}

static int set_mode(struct nic *nic, bool connected)
{
    if (nic->connected == connected)
        return 0;
    nic->connected = connected;
    return dev_set_mtu(nic->dev, connected ? CONNECTED_MTU : min_t(int, nic->dev->mtu, DATAGRAM_MTU));
}

/* Children first; they may live in another namespace than their parent. */
static void unregister(struct nic *nic, struct list_head *list)
{
    struct nic *child;

    list_for_each_entry (child, &nic->children, sibling)
        unregister_netdevice_queue(child->dev, list);
    unregister_netdevice_queue(nic->dev, list);
}

/* ---- netlink: what ip -d shows ---------------------------------------------------------------- */

static size_t get_size(const struct net_device *dev)
{
    return 3 * nla_total_size(2);
}

static int fill_info(struct sk_buff *skb, const struct net_device *dev)
{
    const struct nic *nic = netdev_priv(dev);

    return nla_put_u16(skb, IFLA_IPOIB_PKEY, nic->pkey) || nla_put_u16(skb, IFLA_IPOIB_MODE, nic->connected) ||
                   nla_put_u16(skb, IFLA_IPOIB_UMCAST, nic->umcast)
               ? -EMSGSIZE
               : 0;
}

static struct rtnl_link_ops link_ops = {
    .kind = "ipoib",
    .get_size = get_size,
    .fill_info = fill_info,
};

/* ---- sysfs ------------------------------------------------------------------------------------ */

static struct nic *to_nic(struct device *device)
{
    return netdev_priv(to_net_dev(device));
}

static ssize_t mode_show(struct device *device, struct device_attribute *attribute, char *text)
{
    return sysfs_emit(text, "%s\n", to_nic(device)->connected ? "connected" : "datagram");
}

static ssize_t mode_store(struct device *device, struct device_attribute *attribute, const char *text, size_t size)
{
    bool connected = sysfs_streq(text, "connected");
    int error;

    if (!connected && !sysfs_streq(text, "datagram"))
        return -EINVAL;
    if (!rtnl_trylock())
        return restart_syscall();
    error = set_mode(to_nic(device), connected);
    rtnl_unlock();
    return error ? error : size;
}
static DEVICE_ATTR_RW(mode);

static ssize_t pkey_show(struct device *device, struct device_attribute *attribute, char *text)
{
    return sysfs_emit(text, "0x%04x\n", to_nic(device)->pkey);
}
static DEVICE_ATTR_RO(pkey);

static ssize_t umcast_show(struct device *device, struct device_attribute *attribute, char *text)
{
    return sysfs_emit(text, "%d\n", to_nic(device)->umcast);
}

static ssize_t umcast_store(struct device *device, struct device_attribute *attribute, const char *text, size_t size)
{
    int error = kstrtobool(text, &to_nic(device)->umcast);

    return error ? error : size;
}
static DEVICE_ATTR_RW(umcast);

static ssize_t parent_show(struct device *device, struct device_attribute *attribute, char *text)
{
    return sysfs_emit(text, "%s\n", to_nic(device)->parent->dev->name);
}
static DEVICE_ATTR_RO(parent);

static struct attribute *child_attributes[] = {&dev_attr_mode.attr, &dev_attr_pkey.attr, &dev_attr_umcast.attr,
                                               &dev_attr_parent.attr, NULL};
static const struct attribute_group child_group = {.attrs = child_attributes};

static void setup(struct net_device *dev)
{
    static const u8 broadcast[ADDRESS_LEN] = {0, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0,    0,
                                              0, 0,    0,    0,    0,    0,    0xff, 0xff, 0xff, 0xff};
    struct nic *nic = netdev_priv(dev);

    dev->netdev_ops = &netdev_ops;
    dev->header_ops = &header_ops;
    dev->type = ARPHRD_INFINIBAND;
    dev->addr_len = ADDRESS_LEN;
    dev->hard_header_len = sizeof(struct header);
    dev->flags = IFF_BROADCAST | IFF_MULTICAST;
    dev->mtu = DATAGRAM_MTU;
    dev->max_mtu = CONNECTED_MTU;
    dev->tx_queue_len = 256;
    dev->features = NETIF_F_VLAN_CHALLENGED | NETIF_F_HIGHDMA;
    dev->needs_free_netdev = true;
    dev->rtnl_link_ops = &link_ops;
    memcpy(dev->broadcast, broadcast, ADDRESS_LEN);
    netif_keep_dst(dev);
    netif_carrier_off(dev);
    nic->dev = dev;
    INIT_LIST_HEAD(&nic->children);
}

/* ---- P_Key children --------------------------------------------------------------------------- */

static struct nic *find_child(struct nic *parent, u16 pkey)
{
    struct nic *child;

    list_for_each_entry (child, &parent->children, sibling)
        if (child->pkey == (pkey | FULL_MEMBER))
            return child;
    return NULL;
}

/* The name has the P_Key as it was given: 0x000a and 0x800a are one partition, ib0.000a and ib0.800a. */
static int create_child(struct nic *parent, u16 pkey)
{
    char name[IFNAMSIZ];
    struct net_device *dev;
    struct nic *nic;
    __be64 guid;
    int error;

    if (parent->pkey == (pkey | FULL_MEMBER) || find_child(parent, pkey))
        return -ENOTUNIQ;
    if (snprintf(name, sizeof(name), "%s.%04x", parent->dev->name, pkey) >= sizeof(name))
        return -E2BIG;
    dev = alloc_netdev(sizeof(struct nic), name, NET_NAME_UNKNOWN, setup);
    if (!dev)
        return -ENOMEM;
    dev_net_set(dev, dev_net(parent->dev));
    dev->sysfs_groups[0] = &child_group;
    nic = netdev_priv(dev);
    nic->parent = parent;
    set_pkey(nic, pkey);
    memcpy(&guid, parent->dev->dev_addr + GUID_AT, sizeof(guid));
    set_hardware_address(dev, guid); /* the port's GUID, but a queue pair of its own */
    error = register_netdevice(dev);
    if (error)
        free_netdev(dev);
    return error;
}

static int delete_child(struct nic *parent, u16 pkey)
{
    struct nic *child = find_child(parent, pkey);

    if (!child)
        return -ENODEV;
    unregister_netdevice(child->dev);
    return 0;
}

static ssize_t change_children(struct device *device, const char *text, size_t size, int (*change)(struct nic *, u16))
{
    u16 pkey;
    int error = kstrtou16(text, 0, &pkey);

    if (error || !(pkey & ~FULL_MEMBER))
        return -EINVAL;
    if (!rtnl_trylock())
        return restart_syscall();
    error = change(to_nic(device), pkey);
    rtnl_unlock();
    return error ? error : size;
}

static ssize_t create_child_store(struct device *device, struct device_attribute *attribute, const char *text,
                                  size_t size)
{
    return change_children(device, text, size, create_child);
}
static DEVICE_ATTR_WO(create_child);

static ssize_t delete_child_store(struct device *device, struct device_attribute *attribute, const char *text,
                                  size_t size)
{
    return change_children(device, text, size, delete_child);
}
static DEVICE_ATTR_WO(delete_child);

static struct attribute *port_attributes[] = {&dev_attr_mode.attr,         &dev_attr_pkey.attr,
                                              &dev_attr_umcast.attr,       &dev_attr_create_child.attr,
                                              &dev_attr_delete_child.attr, NULL};
static const struct attribute_group port_group = {.attrs = port_attributes};

/* ---- ports: in every namespace ---------------------------------------------------------------- */

/* Of one namespace the same at every load. */
static __be64 port_guid(const struct net *net, int n)
{
    return cpu_to_be64(0x0002c90300000000ull | (u64)(net->ns.inum & 0xffffff) << 8 | (n + 1));
}

static int register_port(struct net *net, int n)
{
    struct net_device *dev = alloc_netdev(sizeof(struct nic), "ib%d", NET_NAME_UNKNOWN, setup);
    int error;

    if (!dev)
        return -ENOMEM;
    dev_net_set(dev, net);
    dev->sysfs_groups[0] = &port_group;
    set_pkey(netdev_priv(dev), 0xffff);
    set_hardware_address(dev, port_guid(net, n));
    error = register_netdev(dev);
    if (error)
        free_netdev(dev);
    return error;
}

static void remove_ports(struct net *net)
{
    struct net_device *dev;
    LIST_HEAD(list);

    rtnl_lock();
    for_each_netdev (net, dev)
        if (dev->netdev_ops == &netdev_ops)
            unregister(netdev_priv(dev), &list);
    unregister_netdevice_many(&list);
    rtnl_unlock();
}

static int add_ports(struct net *net)
{
    int error = 0;

    for (int n = 0; n < nics && !error; n++)
        error = register_port(net, n);
    if (error)
        remove_ports(net);
    return error;
}

static struct pernet_operations ports = {.init = add_ports, .exit = remove_ports};

/* The NICs of this process's namespace go and come again, as if openibd had been restarted on this host alone. */
static int restart(const char *value, const struct kernel_param *parameter)
{
    struct net *net = current->nsproxy->net_ns;

    remove_ports(net);
    return add_ports(net);
}

static const struct kernel_param_ops restart_ops = {.set = restart};
module_param_cb(restart, &restart_ops, NULL, 0200);
MODULE_PARM_DESC(restart, "written to: removes and makes the ports of the writer's network namespace");

static int __init ipoib_lab_init(void)
{
    int error = rtnl_link_register(&link_ops);

    next_qpn = get_random_u32();
    if (!error)
        error = register_pernet_device(&ports);
    if (error)
        rtnl_link_unregister(&link_ops);
    return error;
}

static void __exit ipoib_lab_exit(void)
{
    unregister_pernet_device(&ports);
    rtnl_link_unregister(&link_ops);
}

module_init(ipoib_lab_init);
module_exit(ipoib_lab_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("IPoIB look-alike for tests: 20-byte hardware addresses on one hub across namespaces");
