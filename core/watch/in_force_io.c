/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/in_force_io.h"

/* TRUE: what the files say now is. */
static gboolean is_in_force(const IbhInForce *in_force, const IbhRun *run)
{
    const guint64 read = ibh_config_fingerprint(run->config);

    return !in_force->config || in_force->reload || read == ibh_config_fingerprint(in_force->config) ||
           read == run->state->config;
}

static void say_that_it_waits(const char *path)
{
    g_autofree char *text =
        g_strdup_printf("the configuration in %s changed: \"sudo ib-hook %s%s%s--apply\" puts it into force; until "
                        "then, or until a hook has used it, --watch uses the one before",
                        path ? path : IBH_CONFIG_DIR, path ? "--config " : "", path ? path : "", path ? " " : "");

    ibh_log_lines(LOG_NOTICE, text);
}

void ibh_in_force_configure(IbhInForce *in_force, IbhRun *run)
{
    guint64 waits = run->config && !is_in_force(in_force, run) ? ibh_config_fingerprint(run->config) : 0;

    if (waits && waits != in_force->told)
        say_that_it_waits(run->config_path);
    in_force->told = waits;
    in_force->reload = FALSE;
    if (waits)
        g_clear_pointer(&run->config, ibh_config_free);
    if (run->config)
        g_clear_pointer(&in_force->config, ibh_config_free);
    else
        run->config = g_steal_pointer(&in_force->config);
}

void ibh_in_force_keep(IbhInForce *in_force, IbhRun *run)
{
    if (run->config)
        in_force->config = g_steal_pointer(&run->config);
}
