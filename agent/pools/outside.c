// SPDX-License-Identifier: Apache-2.0
/*
 * See outside.h. Called by agentd before each pass.
 *
 * As long as there is no pool, every address in a status is served; when the first pool is added,
 * the addresses that are in a status and in no pool are noted, in outside-pools.json of the state
 * folder. If the pool was added while no agent ran there is no such file: then the addresses in the
 * kernel's export table were in service. An address is dropped when a pool has it, or no Service
 * has it in its status.
 *
 * Such addresses are marked in the store (service_address.kept), and all planners use that mark. A
 * node that was added after the pools can't know which addresses other nodes have served before: it
 * reports those that it does not serve.
 */
#include "pools/outside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/ours.h"
#include "base/text.h"
#include "faults/pools.h"
#include "faults/raise.h"
#include "format/json.h"
#include "format/reader.h"
#include "plan/pools/advertised.h"
#include "plan/pools/assignment.h"
#include "plan/routes/route_table.h"
#include "store/give.h"

struct outside_keeper {
    struct outside_options options;
    char *path;
    struct sorted noted; /* struct ip */
    bool known;         /* `noted` has what was served: by the file, or since there were no pools */
    bool without_pools; /* at the last check */
    bool late;    /* this node was added after the pools: `noted` may lack what others serve */
    bool due;     /* a check is due although nothing has changed */
    bool unsaved; /* the file lacks some of `noted` */
};

static int order(const void *a, const void *b)
{
    return ip_cmp(a, b);
}

static void tell(const struct outside_keeper *keeper, const struct faults *faults)
{
    if (fault_book_replace(keeper->options.status->faults, "pools", "outside", faults,
                           clock_wall_ms()) < 0)
        log_error("no memory to keep the faults of addresses outside of pools");
}

static int load(struct outside_keeper *keeper)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    if (access(keeper->path, F_OK) < 0)
        return 0;
    int r = document_read_record(keeper->path, &document, &faults);
    if (r == -ENOMEM)
        return r;
    const struct doc *list = r == 1 ? doc_get(document->root, "addresses") : NULL;
    const struct doc *late = r == 1 ? doc_get(document->root, "late") : NULL;
    keeper->known = list && list->type == DOC_LIST;
    keeper->late = late && strcmp(late->text ? late->text : "", "true") == 0;
    doc_each(node, keeper->known ? list : NULL) {
        struct ip ip;
        if (node->type == DOC_SCALAR && ip_parse(node->text, &ip) == 0 &&
            sorted_put(&keeper->noted, &ip) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int save(const struct outside_keeper *keeper)
{
    AUTOTEXT struct text text = { 0 };
    struct json json = { .out = &text };
    char buffer[IP_STRLEN];
    json_begin_object(&json, NULL);
    json_begin_array(&json, "addresses");
    sorted_each(const struct ip, ip, &keeper->noted)
        json_string(&json, NULL, ip_str(ip, buffer));
    json_end_array(&json);
    json_bool(&json, "late", keeper->late);
    json_end_object(&json);
    text_add_char(&text, '\n');
    int r = text_error(&text);
    return r < 0 ? r : file_write_atomic(keeper->path, text_str(&text), text.length);
}

int outside_keeper_new(const struct outside_options *options, struct outside_keeper **ret_keeper)
{
    CLEANUP(outside_keeper_freep) struct outside_keeper *keeper = calloc(1, sizeof(*keeper));
    if (!keeper)
        return -ENOMEM;
    keeper->options = *options;
    keeper->due = true;
    keeper->noted = (struct sorted)SORTED(struct ip, order);
    keeper->path = text_format("%s/outside-pools.json", options->config->paths.state);
    int r = keeper->path ? load(keeper) : -ENOMEM;
    if (r < 0)
        return r;
    *ret_keeper = TAKE_PTR(keeper);
    return 0;
}

void outside_keeper_free(struct outside_keeper *keeper)
{
    if (!keeper)
        return;
    sorted_done(&keeper->noted);
    free(keeper->path);
    free(keeper);
}

/* ---- Which addresses ---- */

static bool is_outside(const struct outside_keeper *keeper, const struct service_address *address)
{
    return address->origin == ADDRESS_LOAD_BALANCER && !address->proxy_mode &&
           !advertised_pool(keeper->options.store, &address->ip);
}

static bool is_announced(const struct outside_keeper *keeper, const struct ip *ip)
{
    sorted_each(const struct route, route, keeper->options.routes) {
        if (route->table == keeper->options.config->routes.table &&
            route->protocol >= ROUTE_PROTOCOL_SERVICE &&
            route->protocol <= ROUTE_PROTOCOL_CLASS_LAST &&
            route->protocol != ROUTE_PROTOCOL_GUARD && ip_equal(&route->prefix.ip, ip))
            return true;
    }
    return false;
}

/* Whether an address in a status that no pool has now was in service before the first pool. */
static bool was_served(const struct outside_keeper *keeper, const struct ip *ip)
{
    if (keeper->known)
        return sorted_find(&keeper->noted, ip);
    return keeper->without_pools || is_announced(keeper, ip);
}

/* The next Service of this agent's class. */
static const struct service *next_service(const struct outside_keeper *keeper, size_t *cursor)
{
    const struct object *object;
    const char *own_class = keeper->options.config->services.load_balancer_class;
    while ((object = store_next(keeper->options.store, KIND_SERVICE, cursor))) {
        if (assignment_is_for(own_class, to_service(object)))
            return to_service(object);
    }
    return NULL;
}

static int list_served(const struct outside_keeper *keeper, struct sorted *ret_served)
{
    const struct service *service;
    for (size_t cursor = 0; (service = next_service(keeper, &cursor));) {
        for (uint32_t i = 0; i < service->address_count; i++) {
            const struct service_address *address = &service->addresses[i];
            if (is_outside(keeper, address) && was_served(keeper, &address->ip) &&
                sorted_put(ret_served, &address->ip) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/* ---- Their Services ---- */

struct outsider {
    const struct service *service;
    ip_list kept;             /* its addresses outside of pools that were served before */
    struct text served, rest; /* these, and the others, as text */
    bool stale;               /* the marks in the store differ */
};

static void outsider_done(struct outsider *outsider)
{
    vec_done(&outsider->kept);
    text_done(&outsider->served);
    text_done(&outsider->rest);
}

static int judge(const struct outside_keeper *keeper, struct outsider *outsider)
{
    const struct service *service = outsider->service;
    char ip[IP_STRLEN];
    for (uint32_t i = 0; i < service->address_count; i++) {
        const struct service_address *address = &service->addresses[i];
        bool outside = is_outside(keeper, address);
        bool kept = outside && sorted_find(&keeper->noted, &address->ip);
        struct text *text = kept ? &outsider->served : &outsider->rest;
        outsider->stale |= kept != address->kept;
        if (kept && vec_push(&outsider->kept, address->ip) < 0)
            return -ENOMEM;
        if (outside)
            text_addf(text, "%s%s", text->length ? ", " : "", ip_str(&address->ip, ip));
    }
    return text_error(&outsider->served) < 0 ? -ENOMEM : text_error(&outsider->rest);
}

static void add_faults(const struct outside_keeper *keeper, const struct outsider *outsider,
                       struct faults *faults)
{
    const struct object *object = &outsider->service->object;
    AUTOFREE char *place = text_format("Service %s/%s", object->namespace, object->name);
    if (outsider->kept.count)
        fault_raise(faults, place, pool_address_outside_kept,
                    .addresses = text_str(&outsider->served));
    if (outsider->rest.length && !outsider->service->assigned &&
        (outsider->kept.count || keeper->late))
        fault_raise(faults, place, pool_address_outside, .addresses = text_str(&outsider->rest),
                    .reason = keeper->late
                                  ? "it came after the pools, and can't know whether other nodes "
                                    "have served it before, and still do"
                                  : "what is written into a status after the first pool needs one");
}

static int keep_one(struct outside_keeper *keeper, const struct service *service,
                    struct faults *faults)
{
    CLEANUP(outsider_done) struct outsider outsider = { .service = service };
    int r = judge(keeper, &outsider);
    if (r < 0)
        return r;
    add_faults(keeper, &outsider, faults);
    if (outsider.stale)
        r = store_keep(keeper->options.store, service, outsider.kept.items, outsider.kept.count);
    return MIN(r, 0);
}

static int keep_all(struct outside_keeper *keeper, struct faults *faults)
{
    AUTOVEC VEC(const struct service *) services = { 0 };
    const struct service *service;
    for (size_t cursor = 0; (service = next_service(keeper, &cursor));) {
        if (vec_push(&services, service) < 0)
            return -ENOMEM;
    }
    vec_each(const struct service *const, each, &services) {
        int r = keep_one(keeper, *each, faults);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Checks ---- */

static bool is_changed(const struct outside_keeper *keeper, const struct sorted *served)
{
    bool changed = !keeper->known || served->count != keeper->noted.count;
    for (size_t i = 0; !changed && i < served->count; i++)
        changed = order(sorted_at(served, i), sorted_at(&keeper->noted, i)) != 0;
    return changed;
}

/* A write error is reported, and the write is repeated at a later check. */
static void write_noted(struct outside_keeper *keeper, struct faults *faults)
{
    int r = save(keeper);
    keeper->unsaved = r < 0;
    if (r < 0)
        fault_raise(faults, keeper->path, pool_outside_unwritten, .reason = strerror(-r));
}

/* Called while there are pools. */
static int look(struct outside_keeper *keeper, struct faults *faults)
{
    AUTOSORTED struct sorted served = SORTED(struct ip, order);
    int r = list_served(keeper, &served);
    if (r < 0)
        return r;
    if (is_changed(keeper, &served) && keeper->options.status->source.unknown_files == 0) {
        const struct sorted old = keeper->noted;
        keeper->noted = served;
        served = old;
        keeper->late |= !keeper->known && !keeper->without_pools && keeper->noted.count == 0;
        keeper->known = keeper->unsaved = true;
    }
    if (keeper->unsaved)
        write_noted(keeper, faults);
    return keep_all(keeper, faults);
}

/* Every address that is in a status, or in the ranges, is served: none is outside. */
static void forget(struct outside_keeper *keeper)
{
    if (keeper->known && unlink(keeper->path) < 0 && errno != ENOENT)
        log_error("%s cannot be removed: %s", keeper->path, strerror(errno));
    sorted_clear(&keeper->noted);
    keeper->known = keeper->unsaved = false;
    keeper->late = false;
    /* Ranges admit only their own addresses: the kernel's routes show what was in service. */
    keeper->without_pools = keeper->options.config->services.load_balancer_ips.count == 0;
}

static int changed(struct outside_keeper *keeper, bool *ret_changed)
{
    AUTOVEC change_list changes = { 0 };
    int r = store_changes(keeper->options.store, &changes);
    *ret_changed = keeper->due;
    vec_each(const struct change, change, &changes) {
        const struct object *object = change->after ? change->after : change->before;
        *ret_changed |= object->kind == KIND_SERVICE || object->kind == KIND_IP_POOL;
    }
    return r;
}

int outside_keeper_run(struct outside_keeper *keeper)
{
    AUTOFAULTS struct faults faults = { 0 };
    bool is_due = false;
    if (!keeper->options.status->source.synced)
        return 0;
    int r = changed(keeper, &is_due);
    if (r < 0 || !is_due)
        return r;
    if (keeper->options.config->services.load_balancer_ips.count ||
        store_count(keeper->options.store, KIND_IP_POOL) == 0) {
        forget(keeper);
    } else {
        r = look(keeper, &faults);
        keeper->without_pools = false;
    }
    keeper->due = r < 0 || keeper->unsaved;
    tell(keeper, &faults);
    return r;
}

void outside_keeper_set_config(struct outside_keeper *keeper, const struct config *config)
{
    keeper->options.config = config;
    keeper->due = true;
}
