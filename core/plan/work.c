/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Look-ups in what a plan is made of. */
#include "plan/work.h"

void ibh_todo_clear(gpointer data)
{
    IbhTodo *todo = data;

    g_clear_pointer(&todo->rules, g_array_unref);
    g_clear_pointer(&todo->routes, g_array_unref);
}

IbhTodo *ibh_work_todo(const IbhWork *work, const IbhNic *nic)
{
    return &g_array_index(work->todos, IbhTodo, nic->position);
}

IbhTodo *ibh_work_todo_of_rail(const IbhWork *work, const IbhNic *nic)
{
    IbhTodo *todo = nic ? ibh_work_todo(work, nic) : NULL;

    return todo && todo->rules ? todo : NULL;
}

gboolean ibh_work_may_touch(const IbhWork *work, const IbhNic *nic)
{
    return nic ? ibh_work_todo(work, nic)->selected : !work->rails->only;
}

/* TRUE if the tables of this rail hold something of another NIC: a route, or a rule that leads there. Tables stick to
 * their NIC, so only table= and NICs that disappeared cause this. */
gboolean ibh_stale_is_in_the_way(const IbhStale *stale, const IbhTodo *todo)
{
    return !stale->done && stale->owner != todo->nic && ibh_nic_has_table(todo->nic, stale->table);
}

void ibh_work_clear(IbhWork *work)
{
    g_array_unref(work->todos);
    ibh_todo_clear(&work->of_spread);
    g_array_unref(work->stales);
    g_hash_table_unref(work->led_to_table);
}
