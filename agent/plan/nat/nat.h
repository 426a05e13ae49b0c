/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NAT planner: which addresses and ports are served, and where a new flow may go.
 *
 * Pure, like routes.h. The unit of planning is one Service; a change of an object is mapped to the
 * affected Services, and only these are planned again. The values are in nat_table.h.
 */
#pragma once

#include "base/fault.h"
#include "config/config.h"
#include "model/services/service.h"
#include "plan/facts.h"
#include "plan/nat/nat_table.h"
#include "store/store.h"

/*
 * The row of a Service; `*ret_row` is NULL if the row would be empty. Node ports that other
 * Services have, and ports open against the owner's intention, are added to `faults`;
 * plan_address() reports conflicts on other addresses. Of the facts it reads store, config,
 * default_source and link_addresses. Returns 0 or -ENOMEM.
 */
int plan_nat_service(const struct node_facts *facts, const struct service *service,
                     struct nat_row **ret_row, struct faults *faults);

/* Frees the rows (struct nat_row *) and the table. */
void nat_rows_done(struct sorted *rows);

/*
 * The settings; the caller ends with nat_settings_done(). Pod networks are those of the
 * configuration, or else the store's address blocks and the pod networks of its Nodes. Networks
 * beyond NAT_MAX_* are left out, with a fault. Of the facts only store and config are read. Returns
 * 0 or -ENOMEM.
 */
int plan_nat_settings(const struct node_facts *facts, struct nat_settings *ret_settings,
                      struct faults *faults);
void nat_settings_done(struct nat_settings *settings);

/*
 * Where health ports are served: IP_NONE alone for every address of both families, 0.0.0.0 or ::
 * for every address of one, else the addresses of this node that serve node ports, sorted. Empty if
 * they are unknown. Returns 0 or -ENOMEM.
 */
int nat_health_addresses(const struct node_facts *facts, ip_list *ret_list);

/* A Service by name; borrowed from an object. */
struct nat_key {
    const char *namespace, *name;
};

typedef VEC(struct nat_key) nat_key_list;

/*
 * The Services whose rows a change of an object can alter, including deleted ones and ones not seen
 * yet; `*ret_all` is set to true if every row may change (this node's own Node object),
 * `*ret_settings` if the settings may change. Appends to `keys`, duplicates possible; valid until
 * store_changes_done(). Returns 0 or -ENOMEM.
 */
int plan_nat_affected(const struct node_facts *facts, const struct change *change,
                      nat_key_list *keys, bool *ret_all, bool *ret_settings);
