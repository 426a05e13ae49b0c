// SPDX-License-Identifier: Apache-2.0
/*
 * Selects an address for a Service, and checks whether it may have a given one. Called by
 * assignment_update.c, Service by Service.
 *
 * The lowest free address is allocated. Each span of the table of pools has a cursor to its next
 * possibly free address, so that the first start with thousands of Services iterates over each pool
 * once, and a later update not at all; pool_table_free() sets the cursor back. Addresses that are
 * used outside the tables are checked each time.
 */
#include <errno.h>
#include <string.h>

#include "plan/pools/assignment_table.h"
#include "plan/pools/foreign_status.h"

static bool has_cluster_ip(const struct service *service, enum ip_family family)
{
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (service->addresses[i].origin == ADDRESS_CLUSTER &&
            service->addresses[i].ip.family == family)
            return true;
    }
    return false;
}

bool assignment_names(const struct service *service, enum ip_family family)
{
    for (uint32_t i = 0; i < service->request.address_count; i++) {
        if (service->request.addresses[i].family == family)
            return true;
    }
    return false;
}

/* By ipFamilies, which the API sets. A manifest written by hand may omit them. */
bool assignment_wants(const struct service *service, enum ip_family family)
{
    const struct address_request *request = &service->request;
    if (request->v4 || request->v6)
        return family == IP_V4 ? request->v4 : request->v6;
    if (request->policy != FAMILY_SINGLE)
        return true;
    if (has_cluster_ip(service, IP_V4) || has_cluster_ip(service, IP_V6))
        return has_cluster_ip(service, family);
    if (request->address_count)
        return assignment_names(service, family);
    return family == IP_V4;
}

static const struct service_port *find_common_port(const struct service *a, const struct service *b)
{
    for (uint32_t i = 0; i < a->port_count; i++) {
        for (uint32_t j = 0; j < b->port_count; j++) {
            if (a->ports[i].port == b->ports[j].port &&
                a->ports[i].protocol == b->ports[j].protocol)
                return &a->ports[i];
        }
    }
    return NULL;
}

static bool have_one_key(const struct service *a, const struct service *b)
{
    return a->request.sharing_key && b->request.sharing_key &&
           strcmp(a->request.sharing_key, b->request.sharing_key) == 0;
}

const struct service_port *assignment_contested_port(const struct service *a,
                                                     const struct service *b)
{
    return have_one_key(a, b) ? find_common_port(a, b) : NULL;
}

/* Whether the same nodes forward both: an address is announced as a whole. */
static bool have_same_nodes(const struct service *a, const struct service *b)
{
    if (a->external_local != b->external_local)
        return false;
    return !a->external_local || service_requests_have_one_selector(&a->request, &b->request);
}

/* Whether two Services may have one address: LACK_NOTHING, or why not. */
static enum lack_reason judge_sharing(const struct service *a, const struct service *b)
{
    if (!have_one_key(a, b) || find_common_port(a, b))
        return LACK_TAKEN;
    return have_same_nodes(a, b) ? LACK_NOTHING : LACK_BACKENDS;
}

static const struct service *service_of(const struct update *update, const struct assignment *row)
{
    const struct object *object =
        store_get(update->inputs->store, KIND_SERVICE, row->namespace, row->name);
    return object ? to_service(object) : NULL;
}

/* Whether the Service's address is managed by assignments. */
static bool is_assigned_origin(const struct update *update, const struct service *service,
                               const struct service_address *address)
{
    return address->origin == ADDRESS_LOAD_BALANCER && !address->proxy_mode &&
           assignment_is_for(update->inputs->load_balancer_class, service) &&
           !status_is_foreign(update->pools, service);
}

/* The Service or Node that has the address without an allocation here; NULL: none. */
static const struct object *stranger_at(const struct update *update, const struct ip *ip)
{
    size_t count;
    const struct service *const *services = store_services_at(update->inputs->store, ip, &count);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < services[i]->address_count; j++) {
            const struct service_address *address = &services[i]->addresses[j];
            if (ip_equal(&address->ip, ip) && !is_assigned_origin(update, services[i], address))
                return &services[i]->object;
        }
    }
    const struct node *node = store_node_at(update->inputs->store, ip);
    return node ? &node->object : NULL;
}

enum lack_reason assignment_judge_sharing(const struct update *update, const struct assignment *row,
                                          const struct service *service, const struct ip *ip,
                                          const struct object **ret_of)
{
    const struct assignments *assignments = update->assignments;
    enum lack_reason worst = LACK_NOTHING;
    const struct use *use;
    *ret_of = NULL;
    for (size_t at = use_from(assignments, ip); (use = use_at(assignments, at, ip)); at++) {
        if (use->row == row)
            continue;
        const struct service *other = service_of(update, use->row);
        enum lack_reason reason = other                         ? judge_sharing(service, other)
                                  : update->inputs->keep_absent ? LACK_TAKEN
                                                                : LACK_NOTHING;
        if (reason == LACK_NOTHING || (worst && reason != LACK_TAKEN))
            continue;
        worst = reason;
        *ret_of = other ? &other->object : NULL;
        if (worst == LACK_TAKEN)
            break;
    }
    return worst;
}

enum lack_reason pools_permit(const struct store *store, const struct pool_table *pools,
                              const struct service *service, const struct ip *ip)
{
    const struct pool *pool = pool_at(pools, ip);
    if (!pool)
        return LACK_OUTSIDE;
    if (service->request.pool && strcmp(service->request.pool, pool->object->object.name) != 0)
        return LACK_OTHER_POOL;
    return pool_allows(store, pool, service) ? LACK_NOTHING : LACK_FORBIDDEN;
}

enum lack_reason assignment_judge(const struct update *update, const struct assignment *row,
                                  const struct service *service, const struct ip *ip, bool held,
                                  const struct object **ret_of)
{
    *ret_of = NULL;
    if (!assignment_wants(service, (enum ip_family)ip->family))
        return LACK_OTHER_FAMILY;
    enum lack_reason reason = pools_permit(update->inputs->store, update->pools, service, ip);
    if (reason != LACK_NOTHING)
        return reason;
    if (!held && pool_avoids(pool_at(update->pools, ip), ip))
        return LACK_AVOIDED;
    reason = assignment_judge_sharing(update, row, service, ip, ret_of);
    if (reason == LACK_TAKEN || (reason && !held))
        return reason;
    *ret_of = held ? NULL : stranger_at(update, ip);
    return *ret_of ? LACK_TAKEN : LACK_NOTHING;
}

/* Whether it is in use without a known owner: it is allocated only by name. */
static bool is_unowned(const struct update *update, const struct ip *ip)
{
    return update->inputs->unowned && sorted_find(update->inputs->unowned, ip);
}

static bool is_for(const struct update *update, const pool_order *order, const struct ip *ip)
{
    const struct pool *pool = pool_at(update->pools, ip);
    if (!pool || pool_reserves(pool, ip) || pool_avoids(pool, ip) || stranger_at(update, ip) ||
        is_unowned(update, ip))
        return false;
    vec_each(const uint32_t, index, order) {
        if (&update->pools->pools.items[*index] == pool)
            return true;
    }
    return false;
}

/* The Service's previous address, freed recently. */
static bool choose_own(const struct update *update, const struct assignment *row,
                       const pool_order *order, enum ip_family family, struct ip *ret_ip)
{
    const struct sorted *rests = &update->assignments->rests.by_owner;
    for (size_t at = rest_first_of(&update->assignments->rests, row->namespace, row->name);
         at < rests->count; at++) {
        const struct rest *rest = *(struct rest *const *)sorted_at(rests, at);
        if (strcmp(rest->name, row->name) != 0 || strcmp(rest->namespace, row->namespace) != 0)
            break;
        if (rest->ip.family == family && is_for(update, order, &rest->ip) &&
            !is_used(update->assignments, &rest->ip)) {
            *ret_ip = rest->ip;
            return true;
        }
    }
    return false;
}

/* The lowest address of other Services with the same sharing key that has its ports free. */
static bool choose_shared(const struct update *update, const struct assignment *row,
                          const struct service *service, const pool_order *order,
                          enum ip_family family, struct ip *ret_ip)
{
    const struct sorted *table = &update->assignments->shared;
    const struct object *of;
    const char *key = service->request.sharing_key;
    if (!key)
        return false;
    for (size_t at = sorted_lower_bound(table, &(struct shared_use){ .key = key });
         at < table->count; at++) {
        const struct shared_use *shared = sorted_at(table, at);
        const struct ip *ip = &shared->use.ip;
        if (strcmp(shared->key, key) != 0)
            break;
        if (ip->family == family && is_for(update, order, ip) &&
            assignment_judge(update, row, service, ip, false, &of) == LACK_NOTHING) {
            *ret_ip = *ip;
            return true;
        }
    }
    return false;
}

/* The last address of the reserved range with this one; NULL: none. */
static const struct ip *reserved_until(const struct pool *pool, const struct ip *ip)
{
    for (uint32_t i = 0; i < pool->object->reserved_count; i++) {
        if (ip_range_contains(&pool->object->reserved[i], ip))
            return &pool->object->reserved[i].last;
    }
    return NULL;
}

/*
 * The first free address of a span; false if there is none. The span's cursor advances only past
 * addresses that are used by tables with change notification.
 */
static bool find_free(const struct update *update, struct pool_span *span, struct ip *ret_ip)
{
    const struct assignments *assignments = update->assignments;
    const struct pool *pool = &update->pools->pools.items[span->pool];
    struct ip ip = span->next;
    bool follows = true;
    if (span->full)
        return false;
    for (size_t at = use_from(assignments, &ip);;) {
        const struct ip *until = reserved_until(pool, &ip);
        bool used = use_at(assignments, at, &ip);
        while (use_at(assignments, at, &ip))
            at++;
        if (!used && !until && !pool_avoids(pool, &ip) && !rest_find(&assignments->rests, &ip)) {
            *ret_ip = ip;
            if (!stranger_at(update, &ip) && !is_unowned(update, &ip))
                return true;
            follows = false;
        }
        if (!ip_next(until ? until : &ip, &ip) || !ip_range_contains(&span->range, &ip)) {
            span->full = follows;
            return false;
        }
        if (follows)
            span->next = ip;
        if (until)
            at = use_from(assignments, &ip);
    }
}

static bool choose_free(const struct update *update, const pool_order *order, enum ip_family family,
                        struct ip *ret_ip)
{
    vec_each(const uint32_t, index, order) {
        vec_each(struct pool_span, span, &update->pools->spans) {
            if (span->pool == *index && span->range.first.family == family &&
                find_free(update, span, ret_ip))
                return true;
        }
    }
    return false;
}

/* Of the addresses in cooldown, the one that was freed first; pools in their order. */
static bool choose_resting(const struct update *update, const pool_order *order,
                           enum ip_family family, struct ip *ret_ip)
{
    vec_each(uint32_t, index, order) {
        const pool_order one = { .items = index, .count = 1 };
        sorted_each(struct rest *const, rest, &update->assignments->rests.by_age) {
            if ((*rest)->ip.family == family && is_for(update, &one, &(*rest)->ip) &&
                !is_used(update->assignments, &(*rest)->ip)) {
                *ret_ip = (*rest)->ip;
                return true;
            }
        }
    }
    return false;
}

/* Advances to the next address that ends with .0 or .255, unless it does already. */
static void to_avoidable(struct ip *ip)
{
    if (ip->bytes[3] != 0)
        ip->bytes[3] = 255;
}

/* Whether a span has a free address that its pool avoids: checks one in 128. */
static bool has_avoided(const struct update *update, const struct pool_span *span)
{
    const struct pool *pool = &update->pools->pools.items[span->pool];
    struct ip ip = span->range.first;
    to_avoidable(&ip);
    while (pool_avoids(pool, &ip) && ip_range_contains(&span->range, &ip)) {
        if (!is_used(update->assignments, &ip) && !pool_reserves(pool, &ip) &&
            !stranger_at(update, &ip))
            return true;
        if (!ip_next(&ip, &ip))
            return false;
        to_avoidable(&ip);
    }
    return false;
}

static bool leaves_avoided(const struct update *update, const pool_order *order,
                           enum ip_family family)
{
    vec_each(const uint32_t, index, order) {
        vec_each(const struct pool_span, span, &update->pools->spans) {
            if (span->pool == *index && span->range.first.family == family &&
                has_avoided(update, span))
                return true;
        }
    }
    return false;
}

/* Why no pool has an address. */
static enum lack_reason missing_pool(const struct update *update, const struct service *service)
{
    bool exists = false, allowed = false;
    if (!service->request.pool)
        return LACK_NO_POOL;
    vec_each(const struct pool, pool, &update->pools->pools) {
        if (strcmp(pool->object->object.name, service->request.pool) != 0)
            continue;
        exists = true;
        allowed |= pool_allows(update->inputs->store, pool, service);
    }
    return !exists ? LACK_UNKNOWN_POOL : allowed ? LACK_NO_POOL : LACK_FORBIDDEN;
}

static bool order_has(const pool_order *order, uint32_t index)
{
    vec_each(const uint32_t, at, order) {
        if (*at == index)
            return true;
    }
    return false;
}

/* From where an address may be allocated; each value includes those before it. */
enum reach { REACH_SHARED, REACH_FREE, REACH_RESTING };

static bool choose_of(const struct update *update, const struct assignment *row,
                      const struct service *service, const pool_order *order, enum ip_family family,
                      enum reach reach, struct ip *ret_ip)
{
    return choose_shared(update, row, service, order, family, ret_ip) ||
           (reach >= REACH_FREE && choose_free(update, order, family, ret_ip)) ||
           (reach >= REACH_RESTING && choose_resting(update, order, family, ret_ip));
}

/* Of the pools in both orders the first with an address of each family; NULL: none. */
static const struct pool *find_dual(const struct update *update, const struct assignment *row,
                                    const struct service *service, const pool_order orders[2])
{
    struct ip ip;
    for (enum reach reach = REACH_SHARED; reach <= REACH_RESTING; reach++) {
        vec_each(uint32_t, index, &orders[0]) {
            const pool_order one = { .items = index, .count = 1 };
            if (order_has(&orders[1], *index) &&
                choose_of(update, row, service, &one, IP_V4, reach, &ip) &&
                choose_of(update, row, service, &one, IP_V6, reach, &ip))
                return &update->pools->pools.items[*index];
        }
    }
    return NULL;
}

int assignment_choose_pool(const struct update *update, const struct assignment *row,
                           const struct service *service, const struct pool **ret_pool)
{
    AUTOVEC pool_order v4 = { 0 }, v6 = { 0 };
    struct ip ip;
    *ret_pool = NULL;
    if (pool_order_for(update->inputs->store, update->pools, service, IP_V4, &v4) < 0 ||
        pool_order_for(update->inputs->store, update->pools, service, IP_V6, &v6) < 0)
        return -ENOMEM;
    if (choose_own(update, row, &v4, IP_V4, &ip) || choose_own(update, row, &v6, IP_V6, &ip))
        *ret_pool = pool_at(update->pools, &ip);
    else
        *ret_pool = find_dual(update, row, service, (const pool_order[]){ v4, v6 });
    return 0;
}

int assignment_choose(struct update *update, const struct assignment *row,
                      const struct service *service, enum ip_family family,
                      const struct pool *preferred, struct ip *ret_ip, enum lack_reason *ret_reason,
                      const struct object **ret_pool)
{
    AUTOVEC pool_order order = { 0 };
    int r = pool_order_for(update->inputs->store, update->pools, service, family, &order);
    if (r < 0)
        return r;
    uint32_t index = preferred ? (uint32_t)(preferred - update->pools->pools.items) : 0;
    const pool_order first = { .items = &index,
                               .count = preferred && order_has(&order, index) ? 1 : 0 };
    if (order.count == 0)
        *ret_reason = missing_pool(update, service);
    else if (choose_own(update, row, &order, family, ret_ip) ||
             choose_of(update, row, service, &first, family, REACH_RESTING, ret_ip) ||
             choose_of(update, row, service, &order, family, REACH_RESTING, ret_ip))
        *ret_reason = LACK_NOTHING;
    else
        *ret_reason = leaves_avoided(update, &order, family) ? LACK_AVOIDED : LACK_EXHAUSTED;
    if (*ret_reason == LACK_EXHAUSTED || *ret_reason == LACK_AVOIDED)
        *ret_pool = &update->pools->pools.items[order.items[0]].object->object;
    return 0;
}
