/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How --watch answers hooks (hook/request.h): it reads their requests, and replies to all of them after its next look.
 */
#pragma once

#include "hook/request.h"

#include <glib.h>

typedef struct IbhAnswers IbhAnswers;

IbhAnswers *ibh_answers_new(void);
/* Closes the socket: no hook finds us any more; a waiting one reads the end of file, and does the work itself. */
void ibh_answers_free(IbhAnswers *answers);

/* Listens from now on, unless another --watch of this network namespace does: then it tries again later. */
void ibh_answers_listen(IbhAnswers *answers);

/* Appends the descriptors to poll (struct pollfd). */
void ibh_answers_poll(const IbhAnswers *answers, GArray *fds);
/* Reads the requests that have arrived. Returns TRUE if a hook waits for a look. */
gboolean ibh_answers_receive(IbhAnswers *answers);

/* The interfaces that waiting callers say were taken down on purpose, NULL at the end (strings are not owned)… */
GPtrArray *ibh_answers_down(const IbhAnswers *answers);
/* … and whether one of the callers is about this NIC, or about a NIC that we do not know. */
gboolean ibh_answers_concern(const IbhAnswers *answers, int ifindex);

/* Replies to all waiting callers. */
void ibh_answers_reply(IbhAnswers *answers, IbhReplyType type, int status);
