/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe follows an echo that got no reply: does it leave by its NIC, and as it is; does a reply come in. What passes
 * a NIC is heard behind this host's filters on the way out, and before them on the way in: so it tells this host's
 * faults from those of the wire and the peer. Pure.
 */
#pragma once

#include "probe/probe.h"

/* It lost all of its echoes, and nothing said why by now. */
gboolean ibh_probe_trace_is_due(const IbhProbe *probe, guint pair);

/* A packet that passed a NIC, from its network header on. */
typedef struct {
    int ifindex;
    guint16 protocol; /* ETH_P_… */
    gboolean outgoing;
    const guint8 *bytes;
    gsize length;
} IbhTraced;

void ibh_probe_trace_take(IbhProbe *probe, const IbhTraced *packet);

/* Something of it left, or came: if nothing did yet, the kernel may be waiting before it asks for the hardware address.
 */
gboolean ibh_probe_trace_has_moved(const IbhProbePair *pair);
/* IBH_LOSS_NONE: this host is not to blame, or it is not known. */
IbhProbeLoss ibh_probe_trace_verdict(const IbhProbePair *pair);
