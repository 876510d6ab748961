/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happens before anything else, the constructors of the libraries included: what the caller left behind is brought
 * into an order that everything after it may rely on.
 */
#pragma once

/* Leaves only the variables that this program itself looks at: libraries obey many more (NLSYSCONFDIR, NLDBG, G_DEBUG,
 * CHARSET with GCONV_PATH …), libnl even before main(). What the loader obeys (LD_PRELOAD) is over by then. */
void ibh_start_environment(char **environment);

/* The C library calls it by itself, long before main(), which calls it again for those that do not. */
void ibh_start(int argc, char **argv, char **environment);
