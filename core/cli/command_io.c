/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command_io.h"

int ibh_command_fail(IbhCommand *command, int status, const GError *error)
{
    g_autofree char *text = command->writer->error(status, error->message);

    g_string_append(command->writer == &ibh_json_writer ? command->out : command->run.warnings, text);
    return status;
}

gboolean ibh_command_has_token(const IbhCommand *command)
{
    g_autofree char *token = command->run.store ? ibh_store_get_token(command->run.store) : NULL;

    return token && (!command->options->token || g_str_equal(token, command->options->token));
}
