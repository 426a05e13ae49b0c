// SPDX-License-Identifier: Apache-2.0
/*
 * LoadBalancer addresses out of the pools of a folder, as `agentctl plan` shows them: given by the
 * same planner that gives them in earnest, and then planned with as if the API had written them.
 *
 * Addresses in the status of Services are held. So Services as `kubectl get -o yaml` prints them,
 * together with an edited pool, show who would lose an address by the edit.
 */
#include "agentctl/plan/plan_assign.h"

#include <errno.h>

#include "agentctl/field.h"
#include "agentctl/output.h"
#include "faults/pools.h"
#include "faults/raise.h"
#include "store/give.h"

static int put_addresses(struct store *store, const struct assignment *row)
{
    const struct object *service = store_get(store, KIND_SERVICE, row->namespace, row->name);
    if (assignment_is_foreign(row) && row->ips.count == 0)
        return 0;
    int r = store_give(store, to_service(service), row->ips.items, row->ips.count, true, NULL);
    return r < 0 ? r : 0;
}

static void lost_fault(const struct assignment *row, const struct lack *lost, struct faults *faults)
{
    char ip[IP_STRLEN];
    AUTOFREE char *place = text_format("Service %s/%s", row->namespace, row->name);
    fault_raise(faults, place, pool_address_lost, .address = ip_str(&lost->ip, ip),
                .reason = lack_reason_text(lost->reason), .of = lost->of,
                .remedy = lack_reason_remedy(lost->reason));
}

int assign_addresses(const struct config *config, struct store *store, struct pool_table *pools,
                     struct assignments *assignments, struct faults *faults)
{
    int r = pool_table_make(store, pools, faults);
    if (r < 0 || pools->pools.count == 0)
        return r;
    const struct assignment_inputs inputs = {
        .store = store,
        .pools = pools,
        .load_balancer_class = config->services.load_balancer_class,
    };
    r = assignments_update(assignments, &inputs, &(struct assignment_scope){ .all = true }, NULL,
                           NULL);
    for (size_t i = 0; i < assignments->rows.count && r == 0; i++) {
        const struct assignment *row = assignment_at(assignments, i);
        vec_each(const struct lack, lost, &row->lost)
            lost_fault(row, lost, faults);
        r = put_addresses(store, row);
    }
    assignment_faults(assignments, faults);
    return r;
}

static void add_lack(struct text *out, const struct doc *lack, const char *what)
{
    text_addf(out, "; %s %s: %s", what,
              field_is(lack, "address", "-") || !doc_get(lack, "address") ? field(lack, "family")
                                                                          : field(lack, "address"),
              field(lack, "reasonText"));
    if (doc_get(lack, "of")) {
        text_add(out, ": ");
        add_clean(out, field(lack, "of"));
    }
}

static void add_assignment(struct text *out, const struct doc *assignment)
{
    const char *comma = "";
    text_add(out, "  ");
    add_clean(out, field(assignment, "namespace"));
    text_add_char(out, '/');
    add_clean(out, field(assignment, "name"));
    text_add(out, ": ");
    doc_each(address, doc_get(assignment, "addresses")) {
        text_addf(out, "%s%s", comma, address->text);
        comma = ", ";
    }
    text_add(out, *comma ? "" : "none");
    doc_each(lack, doc_get(assignment, "pending"))
        add_lack(out, lack, "pending");
    doc_each(lost, doc_get(assignment, "lost"))
        add_lack(out, lost, "loses");
    text_add_char(out, '\n');
}

void add_pools(struct text *out, const struct doc *plan)
{
    const struct doc *pools = doc_get(plan, "pools");
    if (!pools || pools->count == 0)
        return;
    text_add(out, "pools:\n");
    doc_each(pool, pools) {
        text_add(out, "  ");
        add_clean(out, field(pool, "namespace"));
        text_add_char(out, '/');
        add_clean(out, field(pool, "name"));
        text_addf(out, ": %s addresses, %s in use\n",
                  doc_get(pool, "size") ? field(pool, "size") : "countless", field(pool, "used"));
    }
    text_add(out, "assigned:\n");
    doc_each(assignment, doc_get(plan, "assignments"))
        add_assignment(out, assignment);
}
