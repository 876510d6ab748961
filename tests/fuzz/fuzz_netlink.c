/*
 * What the kernel answers: messages, one behind the other, as they come from a socket. They become a snapshot, and that
 * a plan, its undoing, findings and reports: whatever it was, a second plan after the first is none of ours to judge
 * here, but nothing crashes, and nothing of others is touched.
 */
#include "broken.h"
#include "check.h"
#include "netlink_private.h"
#include "report.h"
#include "state.h"
#include "sysfs.h"

#include <stdint.h>
#include <string.h>

static const uint8_t *input;
static size_t input_size;

/* In the place of core/netlink.c: every request is answered with all of the input, as far as libnl would pass it on.
 * Each message has memory of its own: a byte read behind it is seen. */
gboolean ibh_netlink_talk(IbhNetlink *netlink, struct nl_msg *message, IbhMessageFunc each, gpointer data,
                          GError **error)
{
    g_autofree char *copy = g_malloc(input_size + 1);
    struct nlmsghdr *header = (void *)copy;
    int left = (int)input_size;

    (void)netlink;
    (void)message;
    memcpy(copy, input, input_size);
    for (; nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
        g_autofree struct nlmsghdr *one = g_memdup(header, header->nlmsg_len);

        if (each && !each(one, data)) {
            g_set_error_literal(error, IBH_NETLINK_ERROR, 0, "unreadable");
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean read_all(IbhSnapshot *snapshot)
{
    const IbhRouteFilter all = {.table = 0}, main_by_3 = {.table = 254, .ifindex = 3};
    static int devices[] = {2, 3, 4};
    g_autoptr(GArray) ifindexes = g_array_new(FALSE, FALSE, sizeof(int));

    g_array_append_vals(ifindexes, devices, G_N_ELEMENTS(devices));
    return ibh_netlink_read_links(NULL, snapshot->links, NULL) &&
           ibh_netlink_read_addresses(NULL, snapshot->addresses, NULL) &&
           ibh_netlink_read_rules(NULL, snapshot->rules, NULL) &&
           ibh_netlink_read_routes(NULL, &all, snapshot->routes, NULL) &&
           ibh_netlink_read_routes(NULL, &main_by_3, snapshot->routes, NULL) &&
           ibh_netlink_read_main(NULL, ifindexes, snapshot->routes, NULL) &&
           ibh_netlink_read_neighbours(NULL, 2, snapshot->neighbours, NULL);
}

static void check_plan(const IbhPlan *plan)
{
    for (guint i = 0; i < plan->ops->len; i++) {
        const IbhOp *op = g_ptr_array_index(plan->ops, i);
        g_autofree char *command = ibh_op_command(op);

        if ((op->type == IBH_OP_RULE_DEL && !ibh_rule_is_ours(&op->rule)) ||
            (op->type == IBH_OP_ROUTE_DEL && op->route.table != IBH_TABLE_MAIN && !ibh_route_is_ours(&op->route)))
            broken("%s is not ours", command);
    }
}

static void report(const IbhRails *rails, const IbhPlan *plan)
{
    g_autoptr(GArray) questions = ibh_check_questions(rails, NULL);
    g_autoptr(GPtrArray) findings = ibh_check_judge(rails, plan, questions, NULL), errors = g_ptr_array_new();
    const IbhReport all = {.rails = rails, .plan = plan, .done = plan->ops, .errors = errors, .findings = findings};
    const IbhStyle style = {.verbose = TRUE};
    g_autofree char *show = ibh_text_writer.show(&all, &style), *check = ibh_json_writer.check(&all, &style);
    g_autofree char *log = ibh_log_writer.change(&all, &style), *json = ibh_json_writer.plan(&all, &style);

    if (!g_utf8_validate(log, -1, NULL) || !g_utf8_validate(json, -1, NULL) || !g_utf8_validate(show, -1, NULL) ||
        !g_utf8_validate(check, -1, NULL) || strchr(show, '\033'))
        broken("not fit to print");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhRails) rails = NULL;
    g_autoptr(IbhPlan) apply = NULL, undo = NULL;

    input = data;
    input_size = size;
    if (size < 1 || !read_all(snapshot))
        return 0;
    if (data[size - 1] & 1)
        (void)ibh_config_add(config, "fuzz", "[defaults]\nmain=spread\nmanage=yes\n", 34, NULL, NULL, NULL);
    for (guint i = 0; i < snapshot->links->len; i += 2)
        g_strlcpy(g_array_index(snapshot->links, IbhLink, i).rdma, "mlx5_0/1", 9);
    rails = ibh_rails_find(config, snapshot, FALSE, NULL);
    if (!rails)
        return 0;
    apply = ibh_plan_apply(rails, NULL);
    undo = ibh_plan_undo(rails, NULL, NULL);
    check_plan(apply);
    check_plan(undo);
    ibh_state_remember(snapshot->state, apply->ops, FALSE);
    report(rails, apply);
    return 0;
}
