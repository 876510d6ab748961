/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/subnets.h"

#include "check/gids.h"

#define PKEY_NUMBER 0x7fff

/* What one code is about. */
typedef struct {
    /* FALSE: not known, or hidden by another cause */
    gboolean (*find)(const IbhPort *port, const IbhPortNic *nic, guint64 *ret_value);
    void (*report)(IbhFabricJudge *judge, const IbhPortNic *nic, const IbhPortNic *model, guint64 own, guint64 other);
    const char *name;
    gboolean once; /* if two values are equally frequent, the first rail's is right */
} Common;

typedef struct {
    const IbhPortNic *nic;
    guint64 value;
} Rail;

/* ---- comparing ---- */

/* The rails whose value is known. */
static GArray *find_rails(const IbhFabric *fabric, const Common *common)
{
    GArray *rails = g_array_new(FALSE, FALSE, sizeof(Rail));

    IBH_EACH (const IbhPortNic, nic, fabric->nics) {
        const IbhPort *port = nic->rail ? ibh_fabric_port(fabric, nic) : NULL;
        Rail rail = {.nic = nic};

        if (port && ibh_port_is_active(port) && !ibh_port_is_wrong(port) && common->find(port, nic, &rail.value))
            g_array_append_val(rails, rail);
    }
    return rails;
}

/* How many rails beside this one, itself included, have its value; and how many rails there are. */
static guint count(const GArray *rails, const Rail *rail, guint64 value, guint *ret_all)
{
    guint like = 0;

    *ret_all = 0;
    IBH_EACH (const Rail, other, rails) {
        gboolean beside = ibh_are_beside(rail->nic, other->nic);

        *ret_all += beside ? 1 : 0;
        like += beside && other->value == value ? 1 : 0;
    }
    return like;
}

/* The first rail beside this one with another value; one with the majority behind it comes first. */
static const Rail *find_other(const GArray *rails, const Rail *rail)
{
    const Rail *first = NULL;

    IBH_EACH (const Rail, other, rails) {
        guint all;

        if (other->value == rail->value || !ibh_are_beside(rail->nic, other->nic))
            continue;
        if (2 * count(rails, rail, other->value, &all) > all)
            return other;
        first = first ? first : other;
    }
    return first;
}

/* Names the rails that differ from the majority; without a majority, all. */
static void judge_rail(IbhFabricJudge *judge, const Common *common, const GArray *rails, const Rail *rail)
{
    guint all, like = count(rails, rail, rail->value, &all), others;
    const Rail *other = 2 * like > all ? NULL : find_other(rails, rail);

    if (other && common->once && rail < other && like >= count(rails, rail, other->value, &others))
        return;
    if (other)
        common->report(judge, rail->nic, other->nic, rail->value, other->value);
    else if (all > 1)
        ibh_fabric_report_good(judge, "%s: %s: as most of the rails in its subnet", rail->nic->iface, common->name);
}

static const char *name_subnet(const IbhPortNic *nic, const IbhPortNic *other, char text[IBH_PREFIX_STRLEN])
{
    return ibh_prefix_format(ibh_find_shared_subnet(nic, other), text);
}

/* ---- values that have to be equal ---- */

static gboolean find_pkey(const IbhPort *port, const IbhPortNic *nic, guint64 *ret_value)
{
    (void)port;
    *ret_value = (guint64)nic->pkey & PKEY_NUMBER;
    return nic->pkey != IBH_UNKNOWN;
}

static void report_pkey(IbhFabricJudge *judge, const IbhPortNic *nic, const IbhPortNic *model, guint64 own,
                        guint64 other)
{
    char text[IBH_PREFIX_STRLEN];

    (void)own;
    (void)other;
    ibh_finding_add(
        judge->findings, nic->iface, IBH_WARNING, "pkey-differs",
        ibh_advice("give both interfaces the P_Key that their peers have, or each partition a subnet of its "
                   "own"),
        "P_Key 0x%04x, expected 0x%04x as %s has, in the same subnet %s: members of one partition do not "
        "hear those of another, so the peers of one rail cannot reach the other",
        (guint)nic->pkey, (guint)model->pkey, model->iface, name_subnet(nic, model, text));
}

static gboolean find_gid_prefix(const IbhPort *port, const IbhPortNic *nic, guint64 *ret_value)
{
    (void)nic;
    *ret_value = port->gid_prefix;
    return port->layer == IBH_LAYER_INFINIBAND && port->gid_prefix && port->is_steady;
}

static void report_gid_prefix(IbhFabricJudge *judge, const IbhPortNic *nic, const IbhPortNic *model, guint64 own,
                              guint64 other)
{
    char text[IBH_PREFIX_STRLEN];

    ibh_finding_add(judge->findings, nic->iface, IBH_WARNING, "subnet-prefix-differs",
                    ibh_advice("if both are cabled to one fabric, give its subnet managers one subnet_prefix; if not, "
                               "give each fabric an IP subnet of its own"),
                    "the GIDs of %s begin with %016" G_GINT64_MODIFIER "x, expected %016" G_GINT64_MODIFIER
                    "x as those "
                    "of %s, in the same IP subnet %s: they are on two fabrics, so the peers of one rail cannot reach "
                    "the other",
                    nic->rdma, own, other, model->iface, name_subnet(nic, model, text));
}

static gboolean find_sm(const IbhPort *port, const IbhPortNic *nic, guint64 *ret_value)
{
    (void)nic;
    *ret_value = (guint64)port->sm_lid;
    return port->layer == IBH_LAYER_INFINIBAND && port->sm_lid > 0 && port->is_steady;
}

static void report_sm(IbhFabricJudge *judge, const IbhPortNic *nic, const IbhPortNic *model, guint64 own, guint64 other)
{
    const IbhPort *port = ibh_fabric_port(judge->fabric, nic), *its = ibh_fabric_port(judge->fabric, model);
    char text[IBH_PREFIX_STRLEN];

    if (port->gid_prefix && its->gid_prefix && port->gid_prefix != its->gid_prefix)
        return; /* two fabrics: reported already */
    ibh_finding_add(judge->findings, nic->iface, IBH_WARNING, "sm-differs",
                    ibh_advice("see which subnet manager each port has (sminfo -C DEVICE -P PORT); if they are on two "
                               "fabrics, cable them to one, or give each an IP subnet of its own"),
                    "the subnet manager of %s has lid %" G_GUINT64_FORMAT ", expected %" G_GUINT64_FORMAT
                    " as that of %s, in the same IP subnet %s: they are on two fabrics, so the peers of one rail "
                    "cannot reach the other",
                    nic->rdma, own, other, model->iface, name_subnet(nic, model, text));
}

static gboolean find_gid_index(const IbhPort *port, const IbhPortNic *nic, guint64 *ret_value)
{
    const IbhGid *gid = port->iwarp ? NULL : ibh_find_gid(port, nic);

    *ret_value = gid ? (guint64)gid->index : 0;
    return gid != NULL;
}

static void report_gid_index(IbhFabricJudge *judge, const IbhPortNic *nic, const IbhPortNic *model, guint64 own,
                             guint64 other)
{
    ibh_finding_add(judge->findings, nic->iface, IBH_INFO, "gid-index-differs",
                    ibh_advice("let programs choose the GID by address or version, not by its index: leave "
                               "NCCL_IB_GID_INDEX and UCX_IB_GID_INDEX unset"),
                    "the RoCE v2 GID of its address has index %" G_GUINT64_FORMAT " in the table of %s, that of %s has "
                    "%" G_GUINT64_FORMAT ": a program that is given one index for all NICs uses a wrong GID by one of "
                    "them",
                    own, nic->rdma, model->iface, other);
}

void ibh_judge_subnets(IbhFabricJudge *judge)
{
    static const Common commons[] = {{find_pkey, report_pkey, "number of the P_Key", FALSE},
                                     {find_gid_prefix, report_gid_prefix, "subnet prefix", FALSE},
                                     {find_sm, report_sm, "lid of the subnet manager", FALSE},
                                     {find_gid_index, report_gid_index, "GID index", TRUE}};

    for (gsize i = 0; i < G_N_ELEMENTS(commons); i++) {
        g_autoptr(GArray) rails = find_rails(judge->fabric, &commons[i]);

        IBH_EACH (const Rail, rail, rails) {
            if (ibh_fabric_is_asked(judge, rail->nic->iface))
                judge_rail(judge, &commons[i], rails, rail);
        }
    }
}
