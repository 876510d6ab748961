/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --capture: what ib-hook reads of a host's RDMA ports, written into an archive, so that it can be judged elsewhere.
 */
#pragma once

#include <glib.h>

#define IBH_CAPTURE_ERROR (g_quark_from_static_string("ibh-capture-error"))

typedef struct {
    guint files;
    char *directory; /* that the archive unpacks to */
} IbhCaptured;

void ibh_captured_clear(IbhCaptured *captured);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhCaptured, ibh_captured_clear)

/* Writes a new file; one that exists is left as it is: G_FILE_ERROR_EXIST. */
gboolean ibh_capture(const char *sysfs, const char *file, IbhCaptured *ret_captured, GError **error);
