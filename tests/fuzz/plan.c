// SPDX-License-Identifier: Apache-2.0
/*
 * From manifests to routes, as a file of objects that come one after the other and go again. After
 * each step the plan that was kept up to date by what had changed equals the plan made from
 * nothing; the other order of coming gives the same plan; and the routes it asks for are sorted,
 * one to a slot, ours, and without a difference from themselves. What holds of NAT is plan_nat.c's,
 * of egress, which is not kept up to date, plan_egress.c's.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "fuzz_reader.h"
#include "model/object.h"
#include "plan/node_plan.h"
#include "plan/routes/affected.h"
#include "plan/routes/route_list.h"
#include "plan/routes/routes.h"
#include "plan/routes/shared_ports.h"
#include "plan_egress.h"
#include "plan_nat.h"
#include "store/store.h"

enum { OBJECTS_MAX = 24 };

static const char settings[] =
    "node: node-1\nsource: {manifests: /m}\n"
    "services: {enabled: true, externalIPs: [192.0.2.0/24, 203.0.113.0/24],\n"
    "  serviceCIDRs: [10.96.0.0/12], loadBalancerIPs: [198.51.100.0/24,\n"
    "  203.0.113.0/24, 2001:db8::/32, fd00::/8],\n"
    "  advertise: [loadBalancer, external, cluster]}\n"
    "egress: {enabled: true, unknownPods: hold, gateway: {serves: [internet/nat, d/e]}}\n";

static const struct config *the_config(void)
{
    static struct config *config;
    if (!config) {
        AUTOFAULTS struct faults errors = { 0 };
        AUTOCLOSE int fd = fuzz_file((const uint8_t *)settings, strlen(settings));
        char path[40];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        MUST(config_load(path, &config, &errors) == 0);
    }
    return config;
}

static size_t read_objects(const uint8_t *bytes, size_t size, struct object **ret_objects)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(reader_freep) struct reader *reader = NULL;
    MUST(reader_open(fuzz_file(bytes, size), "f", fuzz_format(bytes, size), &reader_limits_default,
                     &reader) == 0);
    size_t count = 0;
    while (count < OBJECTS_MAX) {
        CLEANUP(document_freep) struct document *document = NULL;
        if (reader_next(reader, &document, &faults) <= 0)
            break;
        if (object_decode(document, &ret_objects[count], NULL, &faults, &faults) == 1)
            count++;
    }
    return count;
}

static void show_plan(const struct route_plan *plan, struct text *out)
{
    char buffer[PREFIX_STRLEN];
    for (size_t i = 0; i < plan->addresses.count; i++) {
        const struct address_row *row = *(struct address_row **)sorted_at(&plan->addresses, i);
        text_addf(out, "%s %s %u %d\n", ip_str(&row->address, buffer),
                  address_reason_name(row->reason), row->protocol, row->guarded);
        MUST(row->claim_count > 0 && (row->reason == REASON_ANNOUNCED) == (row->protocol != 0));
        for (uint32_t j = 0; j < row->claim_count; j++) {
            const struct claim *claim = &row->claims[j];
            MUST(claim->reason <= row->reason && claim->forwarding <= claim->ports);
            text_addf(out, "  %s/%s %d %s %u %u\n", claim->namespace, claim->name, claim->origin,
                      address_reason_name(claim->reason), claim->ports, claim->forwarding);
        }
    }
    for (size_t i = 0; i < plan->blocks.count; i++) {
        const struct block_row *row = sorted_at(&plan->blocks, i);
        text_addf(out, "%s %s %s %d\n", prefix_str(&row->prefix, buffer), row->block, row->pool,
                  row->reserved);
    }
}

static void check_routes(const struct config *config, const struct route_plan *plan)
{
    route_list routes = { 0 };
    MUST(plan_route_list(config, plan, &routes) == 0);
    for (size_t i = 0; i < routes.count; i++) {
        const struct route *route = &routes.items[i];
        struct route wanted;
        MUST(i == 0 || route_slot_cmp(route - 1, route) < 0);
        MUST(route_is_ours(route, config->routes.table));
        MUST(plan_wanted_route(config, plan, route, &wanted) && route_cmp(&wanted, route) == 0);
    }
    struct route_diff diff;
    MUST(diff_routes(routes.items, routes.count, routes.items, routes.count, config->routes.table,
                     true, &diff) == 0);
    MUST(diff.ops.count == 0 && diff.blocked.count == 0 && diff.foreign.count == 0);
    route_diff_done(&diff);
    vec_done(&routes);
}

/* The plan from nothing, and its routes as text. */
static void plan_anew(const struct node_facts *facts, struct node_plan *ret_plan, struct text *out)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct route_inputs inputs = { .node = facts };
    MUST(plan_node(&inputs, ret_plan, &faults) == 0);
    show_plan(&ret_plan->routes, out);
    check_routes(facts->config, &ret_plan->routes);
    nat_plan_check(ret_plan);
    egress_plan_check(&ret_plan->egress);
}

/* What another Node says of who serves a shared address: as the routes engine marks it. */
static void mark_shared(const struct node_facts *facts, const struct node_plan *plan,
                        const struct change *change, ip_list *addresses)
{
    const struct object *any = change->after ? change->after : change->before;
    if (any->kind != KIND_NODE || !shared_ports_affected(facts, change))
        return;
    sorted_each(struct address_row *const, row, &plan->routes.addresses)
        MUST(!(*row)->by_nodes || vec_push(addresses, (*row)->address) == 0);
}

/* The time passes after which addresses are left to other nodes. */
static void leave_addresses(const struct node_facts *facts, struct node_plan *plan)
{
    const struct route_inputs inputs = { .node = facts, .now_ms = SHARED_PORTS_GRACE_MS };
    AUTOVEC ip_list addresses = { 0 };
    const struct route_scope scope = { .addresses = &addresses };
    struct route_update update;
    sorted_each(struct address_row *const, row, &plan->routes.addresses)
        MUST((*row)->leaves_ms == 0 || vec_push(&addresses, (*row)->address) == 0);
    MUST(route_plan_update(&plan->routes, &inputs, &scope, &update) == 0);
    route_update_done(&update);
}

/* Works the store's changes into the plan. */
static void follow(const struct node_facts *facts, struct store *store, struct node_plan *plan)
{
    const struct route_inputs inputs = { .node = facts };
    AUTOVEC change_list changes = { 0 };
    AUTOVEC ip_list addresses = { 0 };
    struct route_scope scope = { .addresses = &addresses };
    struct route_update update;
    MUST(store_changes(store, &changes) == 0);
    vec_each(const struct change, change, &changes) {
        MUST(plan_affected_addresses(facts, change, &addresses, &scope.all) == 0);
        scope.blocks |= plan_affected_blocks(facts, change);
        mark_shared(facts, plan, change, &addresses);
    }
    MUST(route_plan_update(&plan->routes, &inputs, &scope, &update) == 0);
    route_update_done(&update);
    leave_addresses(facts, plan);
    nat_plan_follow(plan, facts, &changes);
    store_changes_done(store);
}

static void step(const struct node_facts *facts, struct store *store, struct node_plan *plan)
{
    AUTOTEXT struct text kept = { 0 }, text = { 0 };
    struct node_plan anew;
    follow(facts, store, plan);
    show_plan(&plan->routes, &kept);
    plan_anew(facts, &anew, &text);
    MUST(strcmp(text_str(&kept), text_str(&text)) == 0);
    nat_plan_compare(plan, &anew);
    node_plan_done(&anew);
}

/* Each object from an origin of its own, so that whoever comes last, the first by name counts. */
static const char *origin(size_t index)
{
    static const char names[] = "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l\0m\0n\0o\0p\0q\0r\0s\0t\0u\0v\0"
                                "w\0x";
    return &names[2 * index];
}

/* All objects at once, the last one first. */
static void plan_backwards(const uint8_t *bytes, size_t size, struct text *out,
                           const struct node_plan *expected)
{
    struct object *objects[OBJECTS_MAX];
    CLEANUP(store_freep) struct store *store = store_new();
    for (size_t i = read_objects(bytes, size, objects); i > 0; i--)
        MUST(store_put(store, origin(i - 1), objects[i - 1]) >= 0);
    const struct node_facts facts = { .store = store, .config = the_config() };
    struct node_plan plan;
    plan_anew(&facts, &plan, out);
    nat_plan_compare(&plan, expected);
    egress_plan_compare(&plan.egress, &expected->egress);
    node_plan_done(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct object *objects[OBJECTS_MAX];
    struct {
        enum kind kind;
        char *namespace, *name;
    } keys[OBJECTS_MAX];
    size_t count = read_objects(bytes, size, objects);
    CLEANUP(store_freep) struct store *store = store_new();
    const struct node_facts facts = { .store = store, .config = the_config() };
    struct node_plan plan;
    AUTOTEXT struct text nothing = { 0 };
    plan_anew(&facts, &plan, &nothing);

    for (size_t i = 0; i < count; i++) {
        keys[i].kind = objects[i]->kind;
        keys[i].namespace = strdup(objects[i]->namespace);
        keys[i].name = strdup(objects[i]->name);
        MUST(store_put(store, origin(i), objects[i]) >= 0);
        step(&facts, store, &plan);
    }
    AUTOTEXT struct text forwards = { 0 }, backwards = { 0 };
    AUTOFAULTS struct faults faults = { 0 };
    egress_plan_done(&plan.egress);
    MUST(plan_egress(&facts, &plan.egress, &faults) == 0);
    show_plan(&plan.routes, &forwards);
    plan_backwards(bytes, size, &backwards, &plan);
    MUST(strcmp(text_str(&forwards), text_str(&backwards)) == 0);

    for (size_t i = 0; i < count; i++) {
        MUST(store_remove(store, origin(i), keys[i].kind, keys[i].namespace, keys[i].name) >= 0);
        step(&facts, store, &plan);
        free(keys[i].namespace);
        free(keys[i].name);
    }
    MUST(plan.routes.addresses.count == 0 && plan.routes.blocks.count == 0 &&
         plan.services.count == 0);
    node_plan_done(&plan);
    return 0;
}
