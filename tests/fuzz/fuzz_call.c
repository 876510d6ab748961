/* What hooks and the command are called with: words that end in a zero byte. */
#include "broken.h"
#include "options.h"
#include "trigger.h"

#include <stdint.h>
#include <string.h>

#define WORDS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *copy = g_malloc0(size + 1);
    char *words[WORDS_MAX + 2] = {(char *)(guintptr) "ib-hook"};
    g_auto(IbhOptions) options = {0};
    g_autoptr(GError) error = NULL;
    int n = 1;

    memcpy(copy, data, size);
    for (char *at = copy; n <= WORDS_MAX && at < copy + size; at += strlen(at) + 1)
        words[n++] = at;
    (void)ibh_trigger_nm(n, words);
    (void)ibh_trigger_rhel(n, words);
    (void)ibh_trigger_networkd(words);
    (void)ibh_trigger_ifupdown(words);
    if (ibh_options_parse(n, words, &options, &error) == (error != NULL))
        broken("refused without a word, or taken with one");
    for (const char *at = error ? error->message : ""; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            broken("a control character in an error");
    }
    return 0;
}
