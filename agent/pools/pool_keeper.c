// SPDX-License-Identifier: Apache-2.0
/*
 * LoadBalancer addresses in manifest mode; see pool_keeper.h.
 *
 * The file addresses.json of the state folder has what neither the folder nor the kernel can tell:
 * which Service was given which address, which addresses rest, and the pools in force, since an
 * edit that was made while no agent ran may be refused, too. It is written before the addresses are
 * served, so that no crash makes them others.
 *
 * A file that was read anew brings its Services without addresses. They get the same ones back
 * before the pass that follows, which therefore finds nothing changed. While a manifest has been
 * broken since the start, the Services that may be in it keep what they have.
 */
#include "pools/pool_keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/text.h"
#include "format/reader.h"
#include "pools/state.h"
#include "store/give.h"

struct given {
    const struct assignment *row;
    const struct service *service;
};

struct pool_keeper {
    struct pool_keeper_options options;
    struct pool_desk desk;
    char *path;
    bool keep_absent;
    bool unsaved;            /* the file is not there yet, or says something older */
    uint64_t saved_version;  /* of the desk in the file */
    VEC(struct given) given; /* during a run */
    bool failed;             /* likewise: no memory for one of them */
};

static void tell(const struct pool_keeper *keeper, const char *group, const struct faults *faults)
{
    if (fault_book_replace(keeper->options.status->faults, "pools", group, faults,
                           clock_wall_ms()) < 0)
        log_error("no memory to keep the faults of pools");
}

/* No file is the state of a fresh installation. */
static int load(struct pool_keeper *keeper, struct faults *faults)
{
    CLEANUP(document_freep) struct document *document = NULL;
    if (access(keeper->path, F_OK) < 0 && errno == ENOENT)
        return 0;
    int r = document_read(keeper->path, READER_JSON, &document, faults);
    if (r == 1)
        r = desk_state_read(document, &keeper->desk, faults);
    return r == -ENOMEM ? r : 0;
}

int pool_keeper_new(const struct pool_keeper_options *options, struct pool_keeper **ret_keeper)
{
    CLEANUP(pool_keeper_freep) struct pool_keeper *keeper = calloc(1, sizeof(*keeper));
    AUTOFAULTS struct faults faults = { 0 };
    if (!keeper)
        return -ENOMEM;
    keeper->options = *options;
    keeper->unsaved = true;
    pool_desk_init(&keeper->desk);
    keeper->path = text_format("%s/addresses.json", options->config->paths.state);
    int r = keeper->path ? load(keeper, &faults) : -ENOMEM;
    if (r < 0)
        return r;
    tell(keeper, "state", &faults);
    *ret_keeper = TAKE_PTR(keeper);
    return 0;
}

void pool_keeper_free(struct pool_keeper *keeper)
{
    if (!keeper)
        return;
    pool_desk_done(&keeper->desk);
    vec_done(&keeper->given);
    free(keeper->path);
    free(keeper);
}

static void on_assigned(void *context, const struct assignment *row, const struct service *service)
{
    struct pool_keeper *keeper = context;
    keeper->failed |= vec_push(&keeper->given, (struct given){ row, service }) < 0;
}

/*
 * What can't be written is given all the same, and said: the folder says what is to be served, and
 * a full disk is no reason to serve less.
 */
static void save(struct pool_keeper *keeper)
{
    AUTOFAULTS struct faults faults = { 0 };
    AUTOTEXT struct text text = { 0 };
    desk_state_write(&keeper->desk, NULL, NULL, RESTS_MAX, &text);
    int r = text_error(&text);
    if (r == 0)
        r = file_write_atomic(keeper->path, text_str(&text), text.length);
    if (r < 0)
        faults_add(&faults, keeper->path, "make room, or let the agent write there",
                   "cannot be written: %s; LoadBalancer addresses may be others after a restart",
                   strerror(-r));
    keeper->unsaved = r < 0;
    keeper->saved_version = pool_desk_version(&keeper->desk);
    tell(keeper, "state", &faults);
}

/*
 * What the Service is to have, and of what its status says in the folder the addresses of no pool:
 * whether these are served is for services.loadBalancerIPs to say, as ever.
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
        bool outside = !pool_at(&keeper->desk.table, &address->ip);
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

static int give_one(struct pool_keeper *keeper, const struct given *given)
{
    AUTOVEC ip_list ips = { 0 };
    bool own, same = true;
    int r = list_addresses(keeper, given, &ips, &own, &same);
    if (r == 0 && !(same && given->service->assigned == own))
        r = store_give(keeper->options.store, given->service, ips.items, ips.count, own);
    return r < 0 ? r : 0;
}

/* Puts the addresses into the store, where they are not there yet. */
static int give(struct pool_keeper *keeper)
{
    int r = keeper->failed ? -ENOMEM : 0;
    vec_each(const struct given, given, &keeper->given) {
        if (r == 0)
            r = give_one(keeper, given);
    }
    return r;
}

static int note_changes(struct pool_keeper *keeper)
{
    AUTOVEC change_list changes = { 0 };
    int r = store_changes(keeper->options.store, &changes);
    vec_each(const struct change, change, &changes)
        pool_desk_note(&keeper->desk, change);
    return r;
}

static int update(struct pool_keeper *keeper)
{
    const struct pool_desk_inputs inputs = {
        .store = keeper->options.store,
        .load_balancer_class = keeper->options.config->services.load_balancer_class,
        .now_ms = clock_wall_ms(),
        .rest_ms = keeper->options.config->pools.rest_ms,
        .keep_absent = keeper->keep_absent,
    };
    AUTOFAULTS struct faults faults = { 0 };
    vec_clear(&keeper->given);
    keeper->failed = false;
    int r = pool_desk_update(&keeper->desk, &inputs, on_assigned, keeper);
    if (r < 0)
        return r;
    pool_desk_faults(&keeper->desk, &faults);
    tell(keeper, "", &faults);
    if (keeper->unsaved || keeper->saved_version != pool_desk_version(&keeper->desk))
        save(keeper);
    return give(keeper);
}

int pool_keeper_run(struct pool_keeper *keeper)
{
    const struct source_status *source = &keeper->options.status->source;
    if (!source->synced)
        return 0;
    int r = note_changes(keeper);
    if (keeper->keep_absent != (source->unknown_files > 0)) {
        keeper->keep_absent = source->unknown_files > 0;
        keeper->desk.all = true;
    }
    if (r == 0 && pool_desk_is_due(&keeper->desk))
        r = update(keeper);
    keeper->desk.all |= r < 0;
    return r;
}

void pool_keeper_set_config(struct pool_keeper *keeper, const struct config *config)
{
    keeper->options.config = config;
    keeper->desk.all = true;
}

const struct pool_desk *pool_keeper_desk(const struct pool_keeper *keeper)
{
    return &keeper->desk;
}
