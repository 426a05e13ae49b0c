// SPDX-License-Identifier: Apache-2.0
/*
 * Addresses that one node of a segment has at a time (segment/claims.h), as a part of the agent:
 * after each pass what is claimed may be another. With another configuration all begins anew, as
 * after a restart: what the kernel keeps is taken over.
 */
#include <errno.h>
#include <string.h>

#include "agentd/part.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/facts.h"
#include "plan/claims/holding_faults.h"
#include "segment/claims.h"
#include "segment/etcd_store.h"
#include "segment/lease_store.h"

static void on_changed(void *context)
{
    api_changes_note(((struct agent *)context)->changes);
}

static int rows_of(void *context, claim_row_list *ret_rows)
{
    const struct agent *agent = context;
    return agent->claims ? claims_rows(agent->claims, ret_rows) : 0;
}

static int open_etcd(const struct agent *agent, struct claim_store *ret_store)
{
    const struct config *config = agent->config;
    const struct etcd_store_options options = {
        .where = { (const char *const *)config->addresses.etcd.endpoints.items,
                   config->addresses.etcd.endpoints.count, config->addresses.etcd.ca_file,
                   config->addresses.etcd.cert_file, config->addresses.etcd.key_file,
                   config->addresses.etcd.user, config->addresses.etcd.password_file },
        .prefix = config->addresses.etcd.prefix,
    };
    return etcd_store_new(agent->event, &options, ret_store);
}

static int open_leases(struct agent *agent, struct claim_store *ret_store)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct kube_config *kube;
    int r = source_load_kubeconfig(agent, &kube, &faults);
    return r < 0 ? r
                 : lease_store_new(agent->event, kube, agent->config->addresses.lease_namespace,
                                   ret_store);
}

/* What keeps this node from claims keeps it from nothing else. */
static void begin(struct agent *agent)
{
    struct claims_options options = {
        .event = agent->event,
        .looks = agent->looks,
        .rules = claims_rules(agent->config->addresses.duration_ms),
        .failback_ms = agent->config->addresses.failback_ms,
        .node = agent->config->node,
        .counts = &agent->status.claims,
        .faults = agent->status.faults,
        .changed = on_changed,
        .context = agent,
    };
    agent->claims_live = (struct claims_live){ 0 };
    if (!agent->config->addresses.enabled) {
        claims_tell_none(agent->status.faults);
        return;
    }
    bool in_etcd = agent->config->addresses.etcd.endpoints.count > 0;
    int r = in_etcd ? open_etcd(agent, &options.store) : open_leases(agent, &options.store);
    r = r < 0 ? r : claims_new(&options, &agent->claims);
    if (r < 0) {
        log_error("cannot claim addresses: %s", strerror(-r));
        return;
    }
    agent->claims_live =
        (struct claims_live){ .rows = rows_of, .counts = &agent->status.claims, .context = agent };
}

static void close_addresses(struct agent *agent)
{
    claims_free(TAKE_PTR(agent->claims));
}

static void configure_addresses(struct agent *agent)
{
    close_addresses(agent);
    begin(agent);
}

static void tell(const struct agent *agent, const struct node_facts *facts,
                 const holding_list *list)
{
    AUTOFAULTS struct faults faults = { 0 };
    plan_holding_faults(facts, list, &faults);
    (void)fault_book_replace(agent->status.faults, "addresses", "links", &faults, clock_wall_ms());
}

static int open_addresses(struct agent *agent)
{
    begin(agent);
    return 0;
}

static int take_holdings(struct agent *agent, const struct route_inputs *inputs)
{
    CLEANUP(holding_list_done) holding_list list = { 0 };
    int r = plan_holdings(inputs, &list);
    if (r < 0)
        return r;
    tell(agent, inputs->node, &list);
    return claims_take(agent->claims, &list);
}

/* Before everything has been planned once, and a source has said what there is, nothing is given
 * up: what the kernel keeps ends by itself. */
static void follow_pass(struct agent *agent)
{
    const struct node_facts facts = node_facts_of(agent->config, agent->store, agent->kernel,
                                                  &agent->board.leads, &agent->board.defaults);
    const struct route_inputs inputs = {
        .node = &facts,
        .proofs = agent->config->services.enabled ? agent->board.proofs : NULL,
        .standing = agent->board.standing,
    };
    if (!agent->claims || !agent->status.routes.complete || !status_is_known(&agent->status))
        return;
    int r = take_holdings(agent, &inputs);
    if (r < 0)
        log_error("cannot plan claimed addresses: %s", strerror(-r));
}

const struct part part_addresses = {
    .name = "addresses",
    .open = open_addresses,
    .configure = configure_addresses,
    .reload = configure_addresses,
    .passed = follow_pass,
    .close = close_addresses,
};
