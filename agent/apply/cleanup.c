// SPDX-License-Identifier: Apache-2.0
/*
 * Removal of what is ours; see cleanup.h. Announcements are removed before the guards behind them,
 * and routes to svc0 before svc0.
 */
#include "apply/cleanup.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "apply/egress/datapath.h"
#include "apply/egress/gateway/gateway.h"
#include "apply/firewall/firewall.h"
#include "apply/mirror/kernel.h"
#include "apply/nat/hooks/hooks.h"
#include "apply/nat/host/svc0.h"
#include "apply/segment/kept.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/remedy.h"
#include "base/text.h"
#include "faults/kernel.h"
#include "faults/raise.h"

typedef VEC(struct route_op) route_op_list;

static bool in_scope(const struct route *route, uint32_t export_table, enum cleanup_scope scope)
{
    if (!route_is_ours(route, export_table))
        return false;
    return scope == CLEANUP_ALL || ours_is_service(route->protocol);
}

/* Appends the deletions of one side: the export table's, or those of all others. */
static int collect(const struct kernel *kernel, uint32_t export_table, enum cleanup_scope scope,
                   bool exported, route_op_list *ops)
{
    sorted_each(const struct route, route, kernel_routes(kernel)) {
        if ((route->table == export_table) != exported || !in_scope(route, export_table, scope))
            continue;
        if (vec_push(ops, (struct route_op){ OP_DELETE, *route }) < 0)
            return -ENOMEM;
    }
    return 0;
}

static void refused(struct faults *faults, const char *what, const struct op_result *result)
{
    fault_raise(faults, what, cleanup_refused, .reason = strerror(-result->error),
                .detail = result->text, .remedy = remedy_for_kernel(result->error));
}

static int remove_routes(struct kernel *kernel, const route_op_list *ops, uint32_t *ret_removed,
                         struct faults *faults)
{
    AUTOFREE struct op_result *results = calloc(ops->count + 1, sizeof(*results));
    if (!results)
        return -ENOMEM;
    int r = kernel_apply_routes(kernel, ops->items, ops->count, results);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ops->count; i++) {
        char route[ROUTE_STRLEN];
        if (results[i].error)
            refused(faults, route_str(&ops->items[i].route, route), &results[i]);
        else
            (*ret_removed)++;
    }
    return 0;
}

static int remove_rules(struct kernel *kernel, uint32_t *ret_removed, struct faults *faults)
{
    AUTOVEC VEC(struct rule_op) ops = { 0 };
    sorted_each(const struct rule, rule, kernel_rules(kernel)) {
        if (rule_is_ours(rule) && vec_push(&ops, (struct rule_op){ OP_DELETE, *rule }) < 0)
            return -ENOMEM;
    }
    AUTOFREE struct op_result *results = calloc(ops.count + 1, sizeof(*results));
    if (!results)
        return -ENOMEM;
    int r = kernel_apply_rules(kernel, ops.items, ops.count, results);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ops.count; i++) {
        char rule[ROUTE_STRLEN];
        if (results[i].error)
            refused(faults, rule_str(&ops.items[i].rule, rule), &results[i]);
        else
            (*ret_removed)++;
    }
    return 0;
}

/* Other nodes may use the claimed addresses when their lifetime ends; removal does not wait for
 * that. */
static int remove_addresses(uint32_t *ret_removed, struct faults *faults)
{
    AUTOSORTED struct sorted kept = SORTED(struct kept_address, kept_address_cmp);
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    char text[IP_STRLEN];
    int r = nl_open(&socket);
    if (r == 0)
        r = kept_read(socket, clock_boot_ms(), &kept);
    sorted_each(const struct kept_address, address, &kept) {
        const struct kept_op op = { .kind = KEPT_REMOVE, .address = *address };
        struct op_result result = { 0 };
        r = r == 0 ? kept_apply(socket, &op, 1, &result) : r;
        if (result.error)
            refused(faults, ip_str(&address->ip, text), &result);
        else
            *ret_removed += r == 0;
    }
    return r;
}

int cleanup_kernel(uint32_t export_table, enum cleanup_scope scope,
                   struct cleanup_counts *ret_counts, struct faults *faults)
{
    const struct kernel_scope node = scope_of_node(export_table);
    CLEANUP(kernel_closep) struct kernel *kernel = NULL;
    struct cleanup_counts counts = { 0 };
    AUTOVEC route_op_list ops = { 0 };
    int r = kernel_open(&node, NL_HERE, &kernel);
    if (r < 0)
        return r;
    if (collect(kernel, export_table, scope, true, &ops) < 0 ||
        collect(kernel, export_table, scope, false, &ops) < 0)
        return -ENOMEM;
    r = remove_routes(kernel, &ops, &counts.routes, faults);
    if (r < 0)
        return r;
    if (scope == CLEANUP_ALL)
        r = remove_rules(kernel, &counts.rules, faults);
    if (r < 0)
        return r;
    if (scope == CLEANUP_ALL)
        r = remove_addresses(&counts.addresses, faults);
    if (r < 0)
        return r;
    *ret_counts = counts;
    return faults_none(faults) ? 0 : -EIO;
}

/* A folder on another file system holds no pins of ours: its files belong to another program. */
static bool has_pins(const char *folder)
{
    struct statfs status;
    return statfs(folder, &status) == 0 && status.f_type == BPF_FS_MAGIC;
}

/* Adds the number of removed objects, or reports the error that prevented it. */
static uint32_t removed(int r, const char *place, struct faults *faults)
{
    if (r < 0)
        fault_raise(faults, place, cleanup_failed, .reason = strerror(-r),
                    .remedy = remedy_for_kernel(r));
    return r < 0 ? 0 : (uint32_t)r;
}

/* A kernel without nftables does not have our table. */
int cleanup_firewall(struct cleanup_counts *counts, struct faults *faults)
{
    CLEANUP(firewall_closep) struct firewall *firewall = NULL;
    int r = firewall_open(&firewall);
    if (r == 0)
        r = firewall_remove(firewall);
    if (r == -EOPNOTSUPP)
        return 0;
    counts->nftables |= removed(r, "nftables, table inet " OURS_NFTABLES_TABLE, faults) > 0;
    return r < 0 ? -EIO : 0;
}

/* The pinned objects of egress. */
static uint32_t remove_egress(const char *pins, struct faults *faults)
{
    AUTOFREE char *flows = text_format("%s/egress-flows", pins);
    uint32_t count = removed(egress_datapath_unpin(pins), pins, faults);
    count += removed(egress_gate_unpin(pins), pins, faults);
    return count + removed(flows ? nat_datapath_unpin(flows) : -ENOMEM, pins, faults);
}

int cleanup_nat(const char *pins, struct cleanup_counts *counts, struct faults *faults)
{
    const bool pinned = has_pins(pins);
    counts->programs += removed(nat_hooks_remove_all(pins), "the programs", faults);
    counts->svc0 |= removed(svc0_remove(), "interface svc0", faults) > 0;
    counts->pins += pinned ? remove_egress(pins, faults) : 0;
    counts->pins += pinned ? removed(nat_datapath_unpin(pins), pins, faults) : 0;
    return faults_none(faults) ? 0 : -EIO;
}
