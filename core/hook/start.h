/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first code of the process, before the constructors of the libraries: it puts the caller's leftovers into an order
 * that all later code may rely on.
 */
#pragma once

/* Leaves only the variables that this program itself looks at: libraries obey many more (NLSYSCONFDIR, NLDBG, G_DEBUG,
 * CHARSET with GCONV_PATH …), libnl even before main(). What the loader obeys (LD_PRELOAD) is over by then. */
void ibh_start_environment(char **environment);

/* The C library calls it, long before main(); main() calls it again, for C libraries that do not. */
void ibh_start(int argc, char **argv, char **environment);
