/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A configuration file, what it says of an interface, and what of it the state keeps. */
#include "broken.h"
#include "check/in_force.h"
#include "config/config.h"

#include <stdint.h>
#include <string.h>

static gboolean find_table(const char *name, guint32 *ret_table, GError **error)
{
    *ret_table = 77;
    if (name[0] == 'x')
        g_set_error_literal(error, IBH_CONFIG_ERROR, 0, "no such table");
    return name[0] != 'x';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(IbhConfig) config = ibh_config_new(), again = NULL;
    g_autoptr(GError) error = NULL;
    gboolean taken = ibh_config_add(config, "fuzz", (const char *)data, size, find_table, TRUE, &error);

    if (taken == (error != NULL) || (error && strlen(error->message) > 1000))
        broken("refused without a word, or with too many");
    again = ibh_config_from_text(config->text->str, TRUE, find_table);
    if (!again || strcmp(again->text->str, config->text->str) != 0)
        broken("it is another one in the state");
    (void)ibh_config_settings(config, "ib0");
    return 0;
}
