/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was remembered: whatever is read is written and read again as the same. */
#include "broken.h"
#include "model/model.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(IbhState) state = ibh_state_parse((const char *)data, size);
    g_autofree char *text = ibh_state_format(state), *rewritten = NULL;
    g_autoptr(IbhState) again = ibh_state_parse(text, strlen(text));

    rewritten = ibh_state_format(again);
    if (strcmp(text, rewritten) != 0)
        broken("it is another one when it is read again");
    return 0;
}
