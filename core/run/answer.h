/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How --watch answers hooks (hook/request.h): it takes requests in, and replies to all of them after its next look.
 */
#pragma once

#include "hook/request.h"

#include <glib.h>

typedef struct IbhAnswers IbhAnswers;

IbhAnswers *ibh_answers_new(void);
/* No hook finds us any more; one that waits reads the end of file, and does the work itself. */
void ibh_answers_free(IbhAnswers *answers);

/* From now on, if no other --watch of this network namespace does: then again, later. */
void ibh_answers_listen(IbhAnswers *answers);

/* Appends the descriptors to wait for (struct pollfd). */
void ibh_answers_poll(const IbhAnswers *answers, GArray *fds);
/* Reads the requests that have come. Returns whether a hook waits for a look. */
gboolean ibh_answers_receive(IbhAnswers *answers);

/* Of those who wait: the interfaces that were taken down on purpose, NULL at the end (strings are not owned)… */
GPtrArray *ibh_answers_down(const IbhAnswers *answers);
/* … and whether one of them is about this NIC, or about no NIC that we know. */
gboolean ibh_answers_concern(const IbhAnswers *answers, int ifindex);

/* To all who wait. */
void ibh_answers_reply(IbhAnswers *answers, IbhReplyType type, int status);
