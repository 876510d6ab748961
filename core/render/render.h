/*
 * What ib-hook does, said in other tools' languages: the whole end state, not the difference. Pure.
 *
 * A format is one line of a table in render.c: a name, and a function that writes text.
 */
#pragma once

#include "plan/rails.h"

#define IBH_RENDER_ERROR (g_quark_from_static_string("ibh-render-error"))

/* A NIC as its own manager would configure it (render/native.c). */
typedef struct {
    const IbhNic *nic;
    const char *connection; /* NetworkManager's; NULL: it does not manage it */
    guint32 table;          /* not the NIC's own: ib-hook sees that somebody else routes it, and defers */
    GArray *addresses;      /* IbhAddress */
    GArray *routes;         /* IbhRoute, in the order in which they must be added */
    GArray *rules;          /* IbhRule */
} IbhNative;

/* Writes a profile of NetworkManager's, after a line that names its file. */
typedef char *IbhProfileWriter(const IbhNative *native, GError **error);

typedef struct {
    const IbhRails *rails; /* with the family that was asked for */
    const char *const *only;
    IbhProfileWriter *write_profile; /* of nm-keyfile alone; NULL: there is none here */
} IbhRender;

gboolean ibh_render_knows(const char *format);
char *ibh_render_formats(void); /* "iproute2, netplan, …" */
char *ibh_render(const char *format, const IbhRender *render, GError **error);
/* What must not be overlooked in it; NULL: nothing. */
char *ibh_render_warning(const char *format, const IbhRender *render);
