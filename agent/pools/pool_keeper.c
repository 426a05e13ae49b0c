// SPDX-License-Identifier: Apache-2.0
/*
 * LoadBalancer addresses in manifest mode; see pool_keeper.h.
 *
 * The file addresses.json of the state folder has what neither the folder nor the kernel has: the
 * assignments of addresses to Services, the addresses in cooldown, and the pools in force, since an
 * edit that was made while no agent ran may be refused, too. It is written before the addresses are
 * served, so that a crash does not change them, and again as a copy beside it
 * (addresses.json.copy): if neither can be read, nothing is guessed. Then only the addresses in
 * statuses and in NAT's maps are known, and a Service without an address waits. An address that the
 * kernel announces and whose owner is unknown stays announced, and is not allocated, until the
 * operator decides.
 *
 * A file that was read anew contains its Services without addresses. They get the same ones again
 * before the pass that follows, which therefore finds nothing changed. While a manifest has been
 * broken since the start, the Services that may be in it keep their addresses.
 */
#include "pools/pool_keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/ours.h"
#include "base/text.h"
#include "faults/pools.h"
#include "faults/raise.h"
#include "format/reader.h"
#include "plan/pools/advertised.h"
#include "plan/routes/route_table.h"
#include "pools/state.h"
#include "store/give.h"

struct given {
    const struct assignment *row;
    const struct service *service;
};

/* What is known of the assignments. */
enum record {
    RECORD_KNOWN,
    RECORD_NONE,    /* there is none */
    RECORD_DAMAGED, /* there is one, and it can't be read */
};

enum { RECORD_MAX = 64 << 20 };

struct pool_keeper {
    struct pool_keeper_options options;
    struct pool_allocator allocator;
    char *path, *copy; /* the record, and its second copy */
    enum record record;
    bool recovered; /* the owners of the addresses that the kernel announces were looked up */
    bool blind;     /* some owners are unknown */
    bool keep_absent;
    bool unsaved;            /* the file does not exist yet, or is older */
    uint64_t saved_version;  /* of the allocator in the file */
    VEC(struct given) given; /* during a run */
    bool failed;             /* likewise: no memory for one of them */
};

static void tell(const struct pool_keeper *keeper, const char *group, const struct faults *faults)
{
    if (fault_book_replace(keeper->options.status->faults, "pools", group, faults,
                           clock_wall_ms()) < 0)
        log_error("no memory to keep the faults of pools");
}

/* ---- Reading the record ---- */

/* Keeps the content of a file that can't be read beside it, under the time of its last change. */
static void keep_aside(const char *path)
{
    struct stat st;
    AUTOFREE char *content = NULL;
    size_t size;
    if (stat(path, &st) < 0 || file_read(path, RECORD_MAX, &content, &size) < 0)
        return;
    AUTOFREE char *aside = text_format("%s.damaged-%lld", path, (long long)st.st_mtime);
    if (aside && access(aside, F_OK) < 0)
        (void)file_write_atomic(aside, content, size);
}

/* Returns 1; 0 if there is no such file; -EBADMSG after adding a fault; -ENOMEM. */
static int read_one(struct pool_keeper *keeper, const char *path, struct faults *faults)
{
    CLEANUP(document_freep) struct document *document = NULL;
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    int r = document_read_record(path, &document, faults);
    if (r == 1)
        r = allocator_state_read(document, &keeper->allocator, faults) < 0 ? -EBADMSG : 1;
    if (r == 1 || r == -ENOMEM)
        return r;
    if (faults->list.count == 0)
        fault_raise(faults, path, pool_record_empty);
    keep_aside(path);
    pool_allocator_done(&keeper->allocator);
    pool_allocator_init(&keeper->allocator);
    return -EBADMSG;
}

/* The record, or else its second copy; if there is neither, this is a fresh installation. */
static int load(struct pool_keeper *keeper)
{
    AUTOFAULTS struct faults faults = { 0 };
    int first = read_one(keeper, keeper->path, &faults);
    int second = first == 1 || first == -ENOMEM ? 0 : read_one(keeper, keeper->copy, &faults);
    if (first == -ENOMEM || second == -ENOMEM)
        return -ENOMEM;
    if (first == 1 || second == 1)
        keeper->record = RECORD_KNOWN;
    else
        keeper->record = first == 0 && second == 0 ? RECORD_NONE : RECORD_DAMAGED;
    if (second == 1 && first < 0)
        fault_raise(&faults, keeper->path, pool_record_copied, .path = keeper->path);
    if (second == 1 && first == 0)
        log_warning("%s is gone: its second copy counts", keeper->path);
    tell(keeper, "state", &faults);
    return 0;
}

int pool_keeper_new(const struct pool_keeper_options *options, struct pool_keeper **ret_keeper)
{
    CLEANUP(pool_keeper_freep) struct pool_keeper *keeper = calloc(1, sizeof(*keeper));
    if (!keeper)
        return -ENOMEM;
    keeper->options = *options;
    keeper->unsaved = true;
    pool_allocator_init(&keeper->allocator);
    keeper->path = text_format("%s/addresses.json", options->config->paths.state);
    keeper->copy = text_format("%s/addresses.json.copy", options->config->paths.state);
    int r = keeper->path && keeper->copy ? load(keeper) : -ENOMEM;
    if (r < 0)
        return r;
    *ret_keeper = TAKE_PTR(keeper);
    return 0;
}

void pool_keeper_free(struct pool_keeper *keeper)
{
    if (!keeper)
        return;
    pool_allocator_done(&keeper->allocator);
    vec_done(&keeper->given);
    free(keeper->path);
    free(keeper->copy);
    free(keeper);
}

static void on_assigned(void *context, const struct assignment *row, const struct service *service)
{
    struct pool_keeper *keeper = context;
    keeper->failed |= vec_push(&keeper->given, (struct given){ row, service }) < 0;
}

static int write_record(const struct pool_keeper *keeper)
{
    AUTOTEXT struct text text = { 0 };
    allocator_state_write(&keeper->allocator, NULL, NULL, RESTS_MAX, &text);
    int r = text_error(&text);
    if (r < 0)
        return r;
    r = file_write_atomic(keeper->path, text_str(&text), text.length);
    return r < 0 ? r : file_write_atomic(keeper->copy, text_str(&text), text.length);
}

/*
 * Addresses that can't be recorded are assigned all the same, with a fault: the manifests decide
 * what is to be served, and a full disk is no reason to serve less.
 */
static void save(struct pool_keeper *keeper)
{
    AUTOFAULTS struct faults faults = { 0 };
    int r = write_record(keeper);
    if (r < 0)
        fault_raise(&faults, keeper->path, pool_record_unwritten, .reason = strerror(-r));
    keeper->unsaved = r < 0;
    keeper->saved_version = pool_allocator_version(&keeper->allocator);
    tell(keeper, "writing", &faults);
}

/*
 * The addresses assigned to the Service, and those in its status in the folder that are in no pool:
 * services.loadBalancerIPs decides whether these are served, as without pools.
 */
static int list_addresses(const struct pool_keeper *keeper, const struct given *given,
                          ip_list *ret_ips, bool *ret_own, bool *ret_same)
{
    size_t said = 0;
    *ret_own = true;
    int r = vec_append(ret_ips, &given->row->ips);
    for (uint32_t i = 0; i < given->service->address_count && r == 0; i++) {
        const struct service_address *address = &given->service->addresses[i];
        if (address->origin != ADDRESS_LOAD_BALANCER || address->proxy_mode)
            continue;
        bool outside = !pool_at(&keeper->allocator.table, &address->ip);
        bool known = false;
        vec_each(const struct ip, ip, &given->row->ips)
            known |= ip_equal(ip, &address->ip);
        said++;
        *ret_own &= !outside || known;
        *ret_same &= outside || known;
        if (outside && !known)
            r = vec_push(ret_ips, address->ip);
    }
    *ret_same &= said == ret_ips->count;
    return r;
}

static bool is_said(const struct service *service, const struct ip *ip)
{
    for (uint32_t i = 0; i < service->address_count; i++) {
        if (service->addresses[i].origin == ADDRESS_LOAD_BALANCER &&
            !service->addresses[i].proxy_mode && ip_equal(&service->addresses[i].ip, ip))
            return true;
    }
    return false;
}

/* The addresses in its status in the manifest that are not assigned to it. 0 or -ENOMEM. */
static int list_unheeded(const struct given *given, struct text *out)
{
    char ip[IP_STRLEN];
    vec_each(const struct lack, lost, &given->row->lost) {
        if (lost->reason != LACK_OUTSIDE && is_said(given->service, &lost->ip))
            text_addf(out, "%s%s, %s%s%s", out->length ? "; " : "", ip_str(&lost->ip, ip),
                      lack_reason_text(lost->reason), lost->of ? ": " : "",
                      lost->of ? lost->of : "");
    }
    return text_error(out);
}

static int give_one(struct pool_keeper *keeper, const struct given *given)
{
    AUTOTEXT struct text unheeded = { 0 };
    AUTOVEC ip_list ips = { 0 };
    bool own, same = true;
    if (assignment_is_foreign(given->row) && given->row->ips.count == 0)
        return 0;
    int r = list_addresses(keeper, given, &ips, &own, &same);
    if (r < 0)
        return r;
    if (same && given->service->assigned == own)
        return 0;
    r = list_unheeded(given, &unheeded);
    if (r < 0)
        return r;
    r = store_give(keeper->options.store, given->service, ips.items, ips.count, own,
                   unheeded.length ? text_str(&unheeded) : NULL);
    return r < 0 ? r : 0;
}

/* Puts the addresses into the store where they are missing. */
static int give(struct pool_keeper *keeper)
{
    if (keeper->failed)
        return -ENOMEM;
    vec_each(const struct given, given, &keeper->given) {
        int r = give_one(keeper, given);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Reports statuses of manifests that are not followed, until they change. */
static void tell_unheeded(const struct pool_keeper *keeper)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct object *object;
    for (size_t cursor = 0; (object = store_next(keeper->options.store, KIND_SERVICE, &cursor));) {
        if (!to_service(object)->unheeded)
            continue;
        AUTOFREE char *place = text_format("Service %s/%s", object->namespace, object->name);
        fault_raise(&faults, place, pool_status_unheeded, .reason = to_service(object)->unheeded);
    }
    tell(keeper, "unheeded", &faults);
}

static int note_changes(struct pool_keeper *keeper)
{
    AUTOVEC change_list changes = { 0 };
    int r = store_changes(keeper->options.store, &changes);
    vec_each(const struct change, change, &changes)
        pool_allocator_note(&keeper->allocator, change);
    return r;
}

static int update(struct pool_keeper *keeper)
{
    const struct pool_allocator_inputs inputs = {
        .store = keeper->options.store,
        .load_balancer_class = keeper->options.config->services.load_balancer_class,
        .now_ms = clock_wall_ms(),
        .rest_ms = keeper->options.config->pools.rest_ms,
        .keep_absent = keeper->keep_absent,
        .keep_only = keeper->record != RECORD_KNOWN,
    };
    AUTOFAULTS struct faults faults = { 0 };
    vec_clear(&keeper->given);
    keeper->failed = false;
    int r = pool_allocator_update(&keeper->allocator, &inputs, on_assigned, keeper);
    if (r < 0)
        return r;
    pool_allocator_faults(&keeper->allocator, &faults);
    tell(keeper, "", &faults);
    if (keeper->record != RECORD_KNOWN && keeper->allocator.assignments.pending.count == 0) {
        log_notice("all addresses are known by statuses: %s is written anew", keeper->path);
        keeper->record = RECORD_KNOWN;
    }
    if (keeper->record == RECORD_KNOWN &&
        (keeper->unsaved || keeper->saved_version != pool_allocator_version(&keeper->allocator)))
        save(keeper);
    r = give(keeper);
    tell_unheeded(keeper);
    return r;
}

/* ---- While the assignments are unknown ---- */

static bool is_service_route(const struct pool_keeper *keeper, const struct route *route)
{
    return route->table == keeper->options.config->routes.table &&
           route->protocol >= ROUTE_PROTOCOL_SERVICE &&
           route->protocol <= ROUTE_PROTOCOL_CLASS_LAST && route->protocol != ROUTE_PROTOCOL_GUARD;
}

/*
 * An address of a pool that the kernel announces and that no object has: it was assigned to a
 * Service.
 */
static bool is_unclaimed(const struct pool_keeper *keeper, const struct route *route)
{
    size_t count;
    return is_service_route(keeper, route) &&
           advertised_pool(keeper->options.store, &route->prefix.ip) &&
           (store_services_at(keeper->options.store, &route->prefix.ip, &count), count == 0);
}

struct finding {
    struct pool_keeper *keeper;
    const struct ip *ip;
    bool owned;
};

static int hold_for(const char *namespace, const char *name, void *with)
{
    struct finding *finding = with;
    finding->owned = true;
    return assignments_hold(&finding->keeper->allocator.assignments, namespace, name, finding->ip);
}

/*
 * Finds the owners of the addresses that the kernel announces: NAT's maps name the Services. If
 * they do not, an address can't be allocated. Returns 0 or -ENOMEM.
 */
static int recover(struct pool_keeper *keeper)
{
    sorted_each(const struct route, route, keeper->options.routes) {
        struct finding finding = { keeper, &route->prefix.ip, false };
        if (!is_unclaimed(keeper, route))
            continue;
        int r = keeper->options.each_owner(keeper->options.context, finding.ip, hold_for, &finding);
        keeper->blind |= r == -ENODATA;
        if (r < 0 && r != -ENODATA)
            return r;
        if (!finding.owned && sorted_put(&keeper->allocator.unowned, finding.ip) < 0)
            return -ENOMEM;
    }
    keeper->recovered = true;
    return 0;
}

static bool is_announced(const struct pool_keeper *keeper, const struct ip *ip)
{
    sorted_each(const struct route, route, keeper->options.routes) {
        if (is_service_route(keeper, route) && ip_equal(&route->prefix.ip, ip))
            return true;
    }
    return false;
}

/* The operator has decided: an object has the address, or its route was removed. */
static void end_unowned(struct pool_keeper *keeper)
{
    struct sorted *unowned = &keeper->allocator.unowned;
    size_t count;
    for (size_t i = unowned->count; i-- > 0;) {
        const struct ip ip = *(const struct ip *)sorted_at(unowned, i);
        store_services_at(keeper->options.store, &ip, &count);
        if (count == 0 && is_announced(keeper, &ip))
            continue;
        sorted_remove(unowned, &ip);
        keeper->allocator.all = keeper->unsaved = true;
    }
    keeper->options.status->unowned.ips = unowned->count ? unowned : NULL;
}

static void add_unowned(const struct pool_keeper *keeper, const struct ip *ip,
                        struct faults *faults)
{
    char text[IP_STRLEN];
    fault_raise(faults, ip_str(ip, text), pool_address_unowned, .address = text,
                .table = keeper->options.config->routes.table);
}

static void add_unknown(const struct pool_keeper *keeper, struct faults *faults)
{
    fault_raise(faults, keeper->path, pool_record_unreadable, .path = keeper->path,
                .what = keeper->record == RECORD_NONE ? "is gone" : "can't be read");
}

static void tell_record(const struct pool_keeper *keeper)
{
    AUTOFAULTS struct faults faults = { 0 };
    if (keeper->record != RECORD_KNOWN)
        add_unknown(keeper, &faults);
    sorted_each(const struct ip, ip, &keeper->allocator.unowned)
        add_unowned(keeper, ip, &faults);
    tell(keeper, "record", &faults);
}

/* A missing record counts as known if NAT's maps name the owners of all addresses, or there are no
 * addresses: as at a first start. */
static int judge_record(struct pool_keeper *keeper)
{
    int r = keeper->record != RECORD_KNOWN && !keeper->recovered ? recover(keeper) : 0;
    if (r < 0)
        return r;
    end_unowned(keeper);
    if (keeper->record == RECORD_NONE && !(keeper->blind && keeper->allocator.unowned.count)) {
        keeper->record = RECORD_KNOWN;
        keeper->allocator.all = true;
    }
    return 0;
}

int pool_keeper_run(struct pool_keeper *keeper)
{
    const struct source_status *source = &keeper->options.status->source;
    if (!source->synced)
        return 0;
    int r = judge_record(keeper);
    r = r < 0 ? r : note_changes(keeper);
    if (keeper->keep_absent != (source->unknown_files > 0)) {
        keeper->keep_absent = source->unknown_files > 0;
        keeper->allocator.all = true;
    }
    if (r == 0 && pool_allocator_is_due(&keeper->allocator))
        r = update(keeper);
    tell_record(keeper);
    keeper->allocator.all |= r < 0;
    return r;
}

void pool_keeper_set_config(struct pool_keeper *keeper, const struct config *config)
{
    keeper->options.config = config;
    keeper->allocator.all = true;
}

const struct pool_allocator *pool_keeper_allocator(const struct pool_keeper *keeper)
{
    return &keeper->allocator;
}
