/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What hooks and the command are called with: words that end in a zero byte, as arguments and as the environment. Of
 * that only what the program itself looks at is left; of a hook, whether to run, and which NIC was taken down.
 */
#include "broken.h"
#include "cli/cli.h"
#include "config/trigger.h"
#include "model/model.h"

#include <stdint.h>
#include <string.h>

#define WORDS_MAX 16

/* ---- triggers ---- */

/* lo, too, may get an address of a rail's subnet; only its early call is as late as any. */
static void check_trigger(IbhTrigger trigger, const char *iface, gboolean wanted, gboolean down, gboolean early)
{
    gboolean named = iface && ibh_iface_name_is_valid(iface);

    if (!memchr(trigger.down, '\0', sizeof trigger.down) || (trigger.down[0] && !ibh_iface_name_is_valid(trigger.down)))
        broken("no interface can be called so");
    if (trigger.wanted != wanted)
        broken("%s of %s", wanted ? "nothing is made" : "something is made", iface ? iface : "nothing");
    if (g_strcmp0(trigger.down, wanted && down && named ? iface : "") != 0 && wanted)
        broken("down is %s, for %s", trigger.down, iface ? iface : "nothing");
    if (trigger.early != (wanted && early))
        broken("it is %s", trigger.early ? "early" : "not early");
}

static void check_nm(int n, char **words)
{
    static const char *const heeded[] = {"pre-up", "up", "dhcp4-change", "dhcp6-change", "reapply", "down", NULL};
    const char *iface = n > 1 ? words[1] : NULL, *action = n > 2 ? words[2] : "";

    check_trigger(ibh_trigger_nm(n, words), iface, g_strv_contains(heeded, action), g_str_equal(action, "down"),
                  g_str_equal(action, "reapply"));
}

static const char *value_of(char **environment, const char *name)
{
    for (; *environment; environment++) {
        if (g_str_has_prefix(*environment, name) && (*environment)[strlen(name)] == '=')
            return *environment + strlen(name) + 1;
    }
    return NULL;
}

static void check_triggers(int n, char **words)
{
    const char *iface = value_of(words, "IFACE"), *mode = value_of(words, "MODE");
    const char *state = value_of(words, "OperationalState");
    char *up[] = {(char *)(guintptr) "/sbin/ifup-local", n > 1 ? words[1] : NULL, NULL};
    char *down[] = {(char *)(guintptr) "/sbin/ifdown-local", n > 1 ? words[1] : NULL, NULL};

    check_nm(n, words);
    check_trigger(ibh_trigger_networkd(words), iface, TRUE, g_strcmp0(state, "off") == 0, FALSE);
    check_trigger(ibh_trigger_ifupdown(words), iface, TRUE, g_strcmp0(mode, "stop") == 0, FALSE);
    check_trigger(ibh_trigger_ifcfg(n > 1 ? 2 : 1, up), up[1], TRUE, FALSE, FALSE);
    check_trigger(ibh_trigger_ifcfg(n > 1 ? 2 : 1, down), down[1], TRUE, TRUE, FALSE);
}

/* ---- options ---- */

static void check_options(char **words)
{
    g_auto(IbhOptions) options = {0};
    g_autoptr(GError) error = NULL;

    if (ibh_options_parse(words, &options, &error) == (error != NULL))
        broken("refused without a word, or taken with one");
    for (const char *at = error ? error->message : ""; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            broken("a control character in an error");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *copy = g_malloc0(size + 1);
    char *words[WORDS_MAX + 2] = {(char *)(guintptr) "ib-hook"};
    int n = 1;

    memcpy(copy, data, size);
    for (char *at = copy; n <= WORDS_MAX && at < copy + size; at += strlen(at) + 1)
        words[n++] = at;
    check_triggers(n, words);
    check_options(words);
    return 0;
}
