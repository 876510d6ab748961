/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nm.so: a connection of NetworkManager's with what makes its NIC a rail, as a key file. libnm writes it, so that it is
 * what NetworkManager itself would write. For --render nm-keyfile only.
 */
#include "connections.h"
#include "host/manager.h"

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <arpa/inet.h>
#include <string.h>

#define NM_MILLISECONDS 2000

#if !NM_CHECK_VERSION(1, 30, 0)

IbhProfileWriter ibh_nm_write_profile;

G_MODULE_EXPORT char *ibh_nm_write_profile(const IbhNative *native G_GNUC_UNUSED, GError **error)
{
    g_set_error_literal(error, IBH_RENDER_ERROR, 0, "libnm writes key files from 1.30 on: take --render nmcli");
    return NULL;
}

#else

/* ---- the existing connection ---- */

/* Of a captured tree, the NIC and its connection are another host's. */
static gboolean is_connection(NMRemoteConnection *remote, const char *name)
{
    return g_strcmp0(nm_connection_get_id(NM_CONNECTION(remote)), name) == 0 ||
           g_strcmp0(nm_connection_get_uuid(NM_CONNECTION(remote)), name) == 0;
}

#define CONNECTIONS "/NetworkManager/system-connections/"

/* Where it stays: files in /run are gone after a reboot, and /usr/lib belongs to packages. */
static char *lasting_path(const char *path)
{
    static const char *const others[] = {"/run" CONNECTIONS, "/usr/lib" CONNECTIONS};

    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        if (path && g_str_has_prefix(path, others[i]))
            return g_strconcat("/etc" CONNECTIONS, path + strlen(others[i]), NULL);
    }
    return g_strdup(path);
}

/* A copy of the connection that the NIC has now; NULL: none. */
static NMConnection *find_profile(const IbhNative *native, char **ret_path)
{
    static NMClient *client;
    NMDevice *device = NULL;
    NMActiveConnection *active;
    NMRemoteConnection *remote;

    if (native->connection && !client)
        client = ibh_nm_ask(NM_MILLISECONDS);
    if (native->connection && client)
        device = ibh_nm_find_device(client, native->nic->link->ifindex);
    active = device ? nm_device_get_active_connection(device) : NULL;
    remote = active ? nm_active_connection_get_connection(active) : NULL;
    if (!remote || !is_connection(remote, native->connection))
        return NULL;
    *ret_path = lasting_path(nm_remote_connection_get_filename(remote));
    return nm_simple_connection_new_clone(NM_CONNECTION(remote));
}

/* ---- a new one ---- */

/* The same for the same name: a file that is rendered again takes the place of the old one. */
static char *make_uuid(const char *name)
{
    g_autofree char *text = g_strconcat("ib-hook connection of ", name, NULL);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

    return g_strdup_printf("%.8s-%.4s-5%.3s-a%.3s-%.12s", sum, sum + 8, sum + 12, sum + 15, sum + 18);
}

#define BROADCAST_PKEY 8 /* in the address that IPoIB broadcasts to */

static NMSetting *infiniband_setting(const IbhLink *link)
{
    NMSetting *setting = nm_setting_infiniband_new();
    char parent[IF_NAMESIZE];

    g_object_set(setting, NM_SETTING_INFINIBAND_TRANSPORT_MODE, "datagram", NULL);
    if (link->parent && if_indextoname((unsigned)link->parent, parent) && link->lladdr_len == 20)
        g_object_set(setting, NM_SETTING_INFINIBAND_PARENT, parent, NM_SETTING_INFINIBAND_P_KEY,
                     link->broadcast[BROADCAST_PKEY] << 8 | link->broadcast[BROADCAST_PKEY + 1], NULL);
    return setting;
}

static gboolean is_plain(const IbhLink *link)
{
    return !link->kind[0] || g_str_equal(link->kind, "ipoib") || g_str_equal(link->kind, "veth");
}

static NMConnection *new_profile(const IbhLink *link, GError **error)
{
    NMConnection *connection;
    NMSetting *base = nm_setting_connection_new();
    g_autofree char *uuid = make_uuid(link->name);
    gboolean infiniband = link->type == ARPHRD_INFINIBAND;

    if (!is_plain(link)) {
        g_set_error(error, IBH_RENDER_ERROR, 0,
                    "a %s that NetworkManager does not manage yet: first make its connection", link->kind);
        return NULL;
    }
    connection = nm_simple_connection_new();
    g_object_set(base, NM_SETTING_CONNECTION_ID, link->name, NM_SETTING_CONNECTION_UUID, uuid,
                 NM_SETTING_CONNECTION_INTERFACE_NAME, link->name, NM_SETTING_CONNECTION_TYPE,
                 infiniband ? NM_SETTING_INFINIBAND_SETTING_NAME : NM_SETTING_WIRED_SETTING_NAME, NULL);
    nm_connection_add_setting(connection, base);
    nm_connection_add_setting(connection, infiniband ? infiniband_setting(link) : nm_setting_wired_new());
    return connection;
}

static gboolean add_addresses(NMSettingIPConfig *setting, const IbhNative *native, int family, GError **error)
{
    for (guint i = 0; i < native->addresses->len; i++) {
        const IbhAddress *address = &g_array_index(native->addresses, IbhAddress, i);
        NMIPAddress *ip;

        if (address->local.family != family)
            continue;
        ip = nm_ip_address_new_binary(family, address->local.bytes, address->subnet.length, error);
        if (!ip)
            return FALSE;
        nm_setting_ip_config_add_address(setting, ip);
        nm_ip_address_unref(ip);
    }
    return TRUE;
}

static NMSettingIPConfig *ip_setting(NMConnection *connection, int family)
{
    return family == AF_INET ? nm_connection_get_setting_ip4_config(connection)
                             : nm_connection_get_setting_ip6_config(connection);
}

static gboolean add_ip(NMConnection *connection, const IbhNative *native, int family, GError **error)
{
    NMSetting *setting = family == AF_INET ? nm_setting_ip4_config_new() : nm_setting_ip6_config_new();
    NMSettingIPConfig *ip = NM_SETTING_IP_CONFIG(setting);

    nm_connection_add_setting(connection, setting);
    if (!add_addresses(ip, native, family, error))
        return FALSE;
    g_object_set(setting, NM_SETTING_IP_CONFIG_METHOD,
                 nm_setting_ip_config_get_num_addresses(ip) ? "manual" : "disabled", NULL);
    return TRUE;
}

/* ---- what makes it a rail ---- */

static gboolean add_route(NMSettingIPConfig *setting, const IbhRoute *route, GError **error)
{
    NMIPRoute *added =
        nm_ip_route_new_binary(route->family, route->dst.ip.bytes, route->dst.length,
                               route->gateway.family != AF_UNSPEC ? route->gateway.bytes : NULL, -1, error);

    if (!added)
        return FALSE;
    nm_ip_route_set_attribute(added, NM_IP_ROUTE_ATTRIBUTE_TABLE, g_variant_new_uint32(route->table));
    if (route->onlink)
        nm_ip_route_set_attribute(added, NM_IP_ROUTE_ATTRIBUTE_ONLINK, g_variant_new_boolean(TRUE));
    nm_setting_ip_config_add_route(setting, added);
    nm_ip_route_unref(added);
    return TRUE;
}

static void add_rule(NMSettingIPConfig *setting, const IbhRule *rule)
{
    NMIPRoutingRule *added = nm_ip_routing_rule_new(rule->family);
    char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];

    nm_ip_routing_rule_set_priority(added, rule->priority);
    nm_ip_routing_rule_set_from(added, inet_ntop(rule->family, rule->from.ip.bytes, from, sizeof from),
                                (guint8)rule->from.length);
    if (rule->to.length)
        nm_ip_routing_rule_set_to(added, inet_ntop(rule->family, rule->to.ip.bytes, to, sizeof to),
                                  (guint8)rule->to.length);
    nm_ip_routing_rule_set_table(added, rule->table);
    if (rule->suppress_prefixlength >= 0)
        nm_ip_routing_rule_set_suppress_prefixlength(added, (int)rule->suppress_prefixlength);
    nm_setting_ip_config_add_routing_rule(setting, added);
    nm_ip_routing_rule_unref(added);
}

static gboolean make_rail(NMConnection *connection, const IbhNative *native, GError **error)
{
    for (guint i = 0; i < native->routes->len; i++) {
        const IbhRoute *route = &g_array_index(native->routes, IbhRoute, i);
        NMSettingIPConfig *setting = ip_setting(connection, route->family);

        if (setting && !add_route(setting, route, error))
            return FALSE;
    }
    for (guint i = 0; i < native->rules->len; i++) {
        const IbhRule *rule = &g_array_index(native->rules, IbhRule, i);
        NMSettingIPConfig *setting = ip_setting(connection, rule->family);

        if (setting)
            add_rule(setting, rule);
    }
    return TRUE;
}

/* ---- as text ---- */

static char *write_text(NMConnection *connection, const char *path, GError **error)
{
    g_autoptr(GKeyFile) file = NULL;
    g_autofree char *text = NULL;

    if (!nm_connection_normalize(connection, NULL, NULL, error) ||
        !(file = nm_keyfile_write(connection, NM_KEYFILE_HANDLER_FLAGS_NONE, NULL, NULL, error)))
        return NULL;
    text = g_key_file_to_data(file, NULL, NULL);
    return g_strdup_printf("# %s\n%s", path, text);
}

IbhProfileWriter ibh_nm_write_profile;

G_MODULE_EXPORT char *ibh_nm_write_profile(const IbhNative *native, GError **error)
{
    g_autofree char *path = NULL;
    NMConnection *connection = find_profile(native, &path);
    char *text = NULL;

    if (!connection && (connection = new_profile(native->nic->link, error)) &&
        (!add_ip(connection, native, AF_INET, error) || !add_ip(connection, native, AF_INET6, error)))
        g_clear_object(&connection);
    if (!connection)
        return NULL;
    if (!path)
        path = g_strdup_printf("/etc" CONNECTIONS "%s.nmconnection", native->nic->link->name);
    if (make_rail(connection, native, error))
        text = write_text(connection, path, error);
    g_object_unref(connection);
    return text;
}

#endif
