/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a fuzzer says that something does not hold. g_error() ends in a trap, at which libFuzzer does not keep the input.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define broken(...) (fprintf(stderr, "does not hold: " __VA_ARGS__), fputc('\n', stderr), abort())
