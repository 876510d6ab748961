/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin nm.so asks NetworkManager three things: the names of its connections, which NICs it really configures, and
 * whether it deletes foreign routes (IbhManager.prunes4). Nothing else links libnm. core/check/managers_io.c loads
 * nm.so, for --show, --check and --render only.
 */
#define NM_VERSION_MIN_REQUIRED NM_VERSION_1_22
#define NM_VERSION_MAX_ALLOWED NM_VERSION_1_22
#include "check/look_io.h"

#include <NetworkManager.h>
#include <net/if.h>
#include <stdio.h>

/* The default address of the system bus. If the environment has another address, libnm itself would connect to that, so
 * we connect to this address, and give libnm the connection. */
#define SYSTEM_BUS "unix:path=/run/dbus/system_bus_socket"

/* NM_ACTIVATION_STATE_FLAG_EXTERNAL: another program configures the NIC, and NetworkManager only watches. libnm has had
 * the name since 1.26, and we build for 1.22. */
#define EXTERNAL 0x80

/* Never freed: calls that are still pending after a timeout have its address. */
typedef struct {
    GMainLoop *loop;
    GMainContext *context;
    NMClient *client; /* NULL: there was no answer */
} Question;

/* For packagers' tools (https://systemd.io/ELF_DLOPEN_METADATA): ib-hook loads nm.so, and with it libnm, if both are
 * installed. */
#define NOTE                                                                                                           \
    "[{\"feature\":\"NetworkManager\",\"description\":\"names of "                                                     \
    "connections\",\"priority\":\"suggested\",\"soname\":[\"libnm.so.0\"]}]"
static const struct {
    guint32 name_size, text_size, type;
    char name[4], text[(sizeof(NOTE) + 3) & ~3U];
} note __attribute__((used, aligned(4), section(".note.dlopen"))) = {4, sizeof NOTE, 0x407c0c0a, "FDO", NOTE};

static gboolean stop_waiting(gpointer data)
{
    g_main_loop_quit(((Question *)data)->loop);
    return G_SOURCE_REMOVE;
}

static void on_client(GObject *source, GAsyncResult *result, gpointer data)
{
    Question *question = data;
    GObject *client = g_async_initable_new_finish(G_ASYNC_INITABLE(source), result, NULL);

    question->client = client ? NM_CLIENT(client) : NULL;
    g_main_loop_quit(question->loop);
}

/* When the bus is connected, asks for a client; then on_client() stops the loop. Without a bus, stops the loop. */
static void on_bus(GObject *source, GAsyncResult *result, gpointer data)
{
    Question *question = data;
    GDBusConnection *bus = g_dbus_connection_new_for_address_finish(result, NULL);

    (void)source;
    if (bus)
        g_async_initable_new_async(NM_TYPE_CLIENT, G_PRIORITY_DEFAULT, NULL, on_client, question,
                                   NM_CLIENT_DBUS_CONNECTION, bus, NULL);
    else
        g_main_loop_quit(question->loop);
    g_clear_object(&bus);
}

/* Returns the client; NULL if the bus cannot be reached, if libnm cannot make a client, or if there is no answer within
 * this time. The client and pending calls live until the process ends. */
static NMClient *wait_for_client(guint milliseconds)
{
    Question *question = g_new0(Question, 1);
    GSource *timeout = g_timeout_source_new(milliseconds);

    question->context = g_main_context_new();
    question->loop = g_main_loop_new(question->context, FALSE);
    g_main_context_push_thread_default(question->context);
    g_source_set_callback(timeout, stop_waiting, question, NULL);
    g_source_attach(timeout, question->context);
    g_source_unref(timeout);
    g_dbus_connection_new_for_address(
        SYSTEM_BUS, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
        NULL, NULL, on_bus, question);
    g_main_loop_run(question->loop);
    g_main_context_pop_thread_default(question->context);
    return question->client;
}

static NMDevice *find_device(NMClient *client, int ifindex)
{
    const GPtrArray *devices = nm_client_get_devices(client);
    char name[IF_NAMESIZE];

    if (!if_indextoname((unsigned)ifindex, name))
        return NULL;
    for (guint i = 0; i < devices->len; i++) {
        NMDevice *device = g_ptr_array_index(devices, i);

        if (g_strcmp0(nm_device_get_iface(device), name) == 0)
            return device;
    }
    return NULL;
}

/* TRUE if NetworkManager is older than 1.36. If a connection sets route-table, even to main, such a version deletes
 * foreign routes through the device from all tables. */
static gboolean prunes_all_tables(NMClient *client)
{
    const char *version = nm_client_get_version(client);
    unsigned major, minor;

    return version && sscanf(version, "%u.%u", &major, &minor) == 2 && major == 1 && minor < 36;
}

/* For a NetworkManager with prunes_all_tables(): notes for each family whether the connection sets route-table. */
static void note_prunes(NMActiveConnection *active, IbhManager *manager)
{
    NMRemoteConnection *remote = nm_active_connection_get_connection(active);
    NMSettingIPConfig *four = remote ? nm_connection_get_setting_ip4_config(NM_CONNECTION(remote)) : NULL;
    NMSettingIPConfig *six = remote ? nm_connection_get_setting_ip6_config(NM_CONNECTION(remote)) : NULL;

    manager->prunes4 = four && nm_setting_ip_config_get_route_table(four);
    manager->prunes6 = six && nm_setting_ip_config_get_route_table(six);
}

/* Returns the word with which nmcli finds this connection: its name, or its UUID if several connections have the name.
 * If several have the name, nmcli takes the first of them, even if another one is active. */
static const char *name_connection(NMClient *client, NMActiveConnection *active)
{
    const GPtrArray *all = nm_client_get_connections(client);
    const char *id = nm_active_connection_get_id(active);
    guint n = 0;

    for (guint i = 0; i < all->len; i++)
        n += g_strcmp0(nm_connection_get_id(NM_CONNECTION(all->pdata[i])), id) == 0 ? 1 : 0;
    return n > 1 ? nm_active_connection_get_uuid(active) : id;
}

/* Sets what NetworkManager says about the link of this entry; `name` becomes NULL if NetworkManager does not configure
 * the link. Leaves the entry as it is if NetworkManager has no device for the link. */
static void fill_in_manager(NMClient *client, IbhManager *manager)
{
    NMDevice *device = find_device(client, manager->ifindex);
    NMActiveConnection *active = device ? nm_device_get_active_connection(device) : NULL;

    if (!device)
        return;
    if (!nm_device_get_managed(device) || (active && (nm_active_connection_get_state_flags(active) & EXTERNAL)))
        manager->name = NULL;
    if (active && prunes_all_tables(client))
        note_prunes(active, manager);
    g_free(manager->connection);
    manager->connection = active ? g_strdup(name_connection(client, active)) : NULL;
}

IbhNmFunction ibh_nm_name_connections;

G_MODULE_EXPORT void ibh_nm_name_connections(GArray *managers, guint milliseconds)
{
    NMClient *client = wait_for_client(milliseconds);

    for (guint i = 0; client && i < managers->len; i++) {
        IbhManager *manager = &g_array_index(managers, IbhManager, i);

        if (g_strcmp0(manager->name, "NetworkManager") == 0)
            fill_in_manager(client, manager);
    }
}
