/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worlds by chance, as lines: the language is in case_text.h.
 *
 * A line that the kernel refuses does nothing, so any selection of a world's lines is a world: that is what makes
 * shrinking easy.
 */
#pragma once

#include "config/config.h"
#include "case_text.h"
#include "plan/plan.h"

/* Numbers by chance, the same for the same seed on every machine. */
typedef struct {
    guint64 state;
} Dice;

Dice dice_new(guint64 seed);
guint dice_roll(Dice *dice, guint n); /* 0 .. n - 1 */
gboolean dice_chance(Dice *dice, guint percent);

GPtrArray *random_lines(guint64 seed); /* char * */

typedef struct {
    FakeKernel *kernel;
    IbhConfig *config;
} World;

/* NULL where the configuration is refused. */
World *world_build(const GPtrArray *lines);
void world_free(World *world);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(World, world_free)

/* What a program does: look, plan, run the plan, remember. */
typedef enum { WORLD_APPLY, WORLD_UNDO, WORLD_EVENT } WorldAction;

typedef struct {
    IbhSnapshot *seen;
    IbhRails *rails;
    GPtrArray *plan;
    gboolean undo;
} Planned;

/* NULL where two NICs of this world were given the same table. */
Planned *world_plan(const IbhConfig *config, const FakeKernel *kernel, WorldAction action, const char *const *only);
void planned_free(Planned *planned);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Planned, planned_free)

/* Runs it as core/plan/apply.c does and remembers sysctls. */
IbhOutcome *world_try(FakeKernel *kernel, const Planned *planned);
/* Returns how many units failed. */
guint world_run(FakeKernel *kernel, const Planned *planned);

/* The lines for people, numbered by nothing, one per line. */
char *lines_print(const GPtrArray *lines, const char *indent);
GPtrArray *lines_copy(const GPtrArray *lines);

/* Leaves out line after line as long as `fails` still holds; what is left is a small case of the same failure. */
typedef gboolean (*LinesFail)(const GPtrArray *lines, gpointer data);
void lines_shrink(GPtrArray *lines, LinesFail fails, gpointer data);
