// SPDX-License-Identifier: Apache-2.0
/* Reports claims: rows for documents, faults for operators. Called by claims.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/remedy.h"
#include "faults/claims.h"
#include "faults/raise.h"
#include "segment/claims_inside.h"

enum {
    FAILURES_MEANT = 2,
    DEAF_MS = 1500, /* without a watch on the records, before that is reported */
};

static enum claim_state state_of(const struct own_claim *claim, const struct claim_address *address,
                                 const char *holder)
{
    if (address->installed)
        return CLAIM_HELD;
    if (claim->has_right)
        return address->announcing.state == ANNOUNCING_TAKEN || address->error ? CLAIM_TAKEN
                                                                               : CLAIM_TAKING;
    if (*holder && strcmp(holder, claim->claims->node) != 0)
        return CLAIM_OTHER;
    return claim->lease.rank < 0 ? CLAIM_BARRED : CLAIM_WAITING;
}

/* ---- Rows ---- */

static const char *refusal_words(int error)
{
    return error == -EEXIST ? "somebody else has made it here" : strerror(-error);
}

static const char *refusal_remedy(int error)
{
    if (error == -EEXIST)
        return "ip addr del it, if it is not to be there";
    if (error == -EACCES)
        return "turn IPv6 on for that interface: sysctl net.ipv6.conf.NAME.disable_ipv6=0";
    if (error == -EPERM)
        return "give agentd CAP_NET_ADMIN: AmbientCapabilities= of its unit";
    return remedy_for_kernel(error);
}

static void say_taken(const struct claim_address *address, struct claim_row *row)
{
    char mac[LINK_MAC_STRLEN];
    if (address->error)
        (void)snprintf(row->why, sizeof(row->why), "this node's kernel refuses it: %s",
                       refusal_words(address->error));
    else
        (void)snprintf(row->why, sizeof(row->why), "%s has it",
                       link_mac_str(address->announcing.mac, mac));
}

static const char *why_barred(const struct own_claim *claim, const struct claim_address *address)
{
    if (claim->reason != PLACEMENT_MAY)
        return placement_words(claim->reason);
    if (wires_error(claim->claims->wires, address->ifindex) < 0)
        return "no packet socket can be had on its interface";
    return "another node comes before this one";
}

/* Why this node does not hold an address that no other node holds. */
static const char *why_waiting(const struct own_claim *claim)
{
    const struct lease *lease = &claim->lease;
    if (claim->trouble[0])
        return claim->trouble;
    if (claim->slowest_ms)
        return "its store is too slow for it: see agentctl faults";
    if (lease->sight == LEASE_UNKNOWN)
        return "its record was not read yet";
    if (lease->sight == LEASE_ABSENT || claim_is_anothers(claim))
        return "its last holder may have it still";
    if (!lease->seen.holder[0])
        return "it is free, and asked for";
    return lease->acquired_wall_ms
               ? "this node's own renewal was not answered yet"
               : "this node had it before it started, and waits for that to end";
}

static void say_why(const struct own_claim *claim, const struct claim_address *address,
                    struct claim_row *row)
{
    const char *words = "";
    if (row->state == CLAIM_TAKEN) {
        say_taken(address, row);
        return;
    }
    if (row->state == CLAIM_BARRED || (row->state == CLAIM_OTHER && claim->lease.rank < 0))
        words = why_barred(claim, address);
    else if (row->state == CLAIM_OTHER)
        words = "another node has it";
    else if (row->state == CLAIM_WAITING)
        words = why_waiting(claim);
    else if (row->state == CLAIM_TAKING)
        words = "it is probed for";
    (void)snprintf(row->why, sizeof(row->why), "%s", words);
}

int claims_rows(const struct claims *claims, claim_row_list *ret_rows)
{
    AUTOVEC claim_row_list rows = { 0 };
    int64_t now_ms = clock_boot_ms();
    vec_each(struct own_claim *const, claim, &claims->list) {
        const struct lease *lease = &(*claim)->lease;
        const char *holder = claim_holder(*claim, now_ms);
        vec_each(const struct claim_address, address, &(*claim)->addresses) {
            struct claim_row row = {
                .ip = address->ip,
                .state = state_of(*claim, address, holder),
                .since_wall_ms = (*claim)->since_wall_ms,
                .renewed_ms = lease->renewed ? lease->renewed_ms : 0,
            };
            (void)snprintf(row.key, sizeof(row.key), "%s", (*claim)->key);
            memcpy(row.service, address->service, sizeof(row.service));
            memcpy(row.interface, address->interface, sizeof(row.interface));
            (void)snprintf(row.holder, sizeof(row.holder), "%s", holder);
            say_why(*claim, address, &row);
            if (vec_push(&rows, row) < 0)
                return -ENOMEM;
        }
    }
    vec_move(ret_rows, &rows);
    return 0;
}

/* ---- Faults ---- */

static void tell(const struct claims *claims, const char *group, const struct faults *faults)
{
    if (fault_book_replace(claims->options.faults, "addresses", group, faults, clock_wall_ms()) < 0)
        log_error("addresses: no memory to keep the faults of \"%s\"", group);
}

/* True also if it is probed for again after that. */
static bool is_taken(const struct announcing *announcing)
{
    return announcing->state == ANNOUNCING_TAKEN ||
           (announcing->state == ANNOUNCING_PROBING && announcing->pause_ms);
}

static void tell_taken(const struct claims *claims)
{
    AUTOFAULTS struct faults faults = { 0 };
    char text[IP_STRLEN], mac[LINK_MAC_STRLEN];
    vec_each(struct own_claim *const, claim, &claims->list) {
        vec_each(const struct claim_address, address, &(*claim)->addresses) {
            const char *place = ip_str(&address->ip, text);
            if (!(*claim)->has_right)
                continue;
            if (announcing_is_rivalled(&address->announcing))
                fault_raise(&faults, place, claim_address_contested,
                            .mac = link_mac_str(address->announcing.mac, mac),
                            .interface = address->interface);
            else if (is_taken(&address->announcing))
                fault_raise(&faults, place, claim_address_taken,
                            .mac = link_mac_str(address->announcing.mac, mac),
                            .interface = address->interface);
            else if (address->error)
                fault_raise(&faults, place, claim_address_refused, .interface = address->interface,
                            .reason = refusal_words(address->error),
                            .remedy = refusal_remedy(address->error));
        }
    }
    tell(claims, "conflicts", &faults);
}

/* A single failure is not reported, unless the store asks for a delay. */
static bool is_meant(const struct own_claim *claim)
{
    const bool twice = claim->failures >= FAILURES_MEANT || claim->not_written >= FAILURES_MEANT;
    return twice || (claim->trouble[0] && claim->told_to_wait);
}

static const struct own_claim *failing(const struct claims *claims)
{
    vec_each(struct own_claim *const, claim, &claims->list) {
        if (is_meant(*claim))
            return *claim;
    }
    return NULL;
}

static const struct own_claim *slow(const struct claims *claims)
{
    vec_each(struct own_claim *const, claim, &claims->list) {
        if ((*claim)->slowest_ms)
            return *claim;
    }
    return NULL;
}

static void add_slow(const struct claims *claims, const struct own_claim *claim,
                     struct faults *faults)
{
    const struct lease_rules *rules = &claim->lease.rules;
    char place[HOLDING_KEY_MAX + 16];
    (void)snprintf(place, sizeof(place), "%s %s", claims->options.store.ops->name, claim->key);
    char took[24], keepable[24];
    (void)snprintf(took, sizeof(took), "%.1f", (double)claim->slowest_ms / SECOND_MS);
    (void)snprintf(keepable, sizeof(keepable), "%.1f",
                   (double)lease_keepable_ms(rules) / SECOND_MS);
    fault_raise(faults, place, claim_store_slow,
                .how = claim->failures ? "was not answered in" : "took", .took = took,
                .duration = rules->duration_ms / SECOND_MS, .keepable = keepable);
}

/* A restart of the store's member ends the watch, which soon is established at another member. */
static bool is_deaf(const struct claims *claims, int64_t now_ms)
{
    return claims->watch_lost_ms && now_ms - claims->watch_lost_ms >= DEAF_MS;
}

int64_t claims_deaf_next_ms(const struct claims *claims, int64_t now_ms)
{
    return claims->watch_lost_ms && !is_deaf(claims, now_ms) ? claims->watch_lost_ms + DEAF_MS
                                                             : INT64_MAX;
}

static void tell_store(const struct claims *claims)
{
    AUTOFAULTS struct faults faults = { 0 };
    char place[HOLDING_KEY_MAX + 16];
    const char *name = claims->options.store.ops->name;
    const struct own_claim *claim = failing(claims), *slow_one = slow(claims);
    if (claim) {
        (void)snprintf(place, sizeof(place), "%s %s", name, claim->key);
        fault_raise(&faults, place, claim_write_failed, .reason = claim->trouble,
                    .remedy = claim->remedy);
    } else if (is_deaf(claims, clock_boot_ms())) {
        (void)snprintf(place, sizeof(place), "%ss", name);
        fault_raise(&faults, place, claim_watch_lost, .reason = claims->watch_trouble,
                    .remedy = claims->watch_remedy);
    }
    if (slow_one && !claim)
        add_slow(claims, slow_one, &faults);
    if (claims->removal.trouble[0] && !claim) {
        (void)snprintf(place, sizeof(place), "%s %s", name, claims->removal.key);
        fault_raise(&faults, place, claim_delete_failed, .reason = claims->removal.trouble,
                    .remedy = claims->removal.remedy);
    }
    tell(claims, "store", &faults);
}

static void tell_stuck(const struct claims *claims)
{
    AUTOFAULTS struct faults faults = { 0 };
    char place[HOLDING_KEY_MAX + 16];
    const int64_t now_ms = clock_boot_ms();
    vec_each(struct own_claim *const, claim, &claims->list) {
        const struct lease *lease = &(*claim)->lease;
        if (claim_stuck_ms(*claim) > now_ms)
            continue;
        (void)snprintf(place, sizeof(place), "%s %s", claims->options.store.ops->name,
                       (*claim)->key);
        fault_raise(&faults, place, claim_record_stuck, .holder = lease->seen.holder,
                    .minutes = (lease->bound_ms + MINUTE_MS - 1) / MINUTE_MS);
    }
    tell(claims, "records", &faults);
}

static const char *let_one_have_it(enum placement_reason reason)
{
    switch (reason) {
    case PLACEMENT_UNUSED_LINK:
        return "name that interface in addresses.interfaces, on each node that is to have it";
    case PLACEMENT_OTHER_LINKS:
        return "name the interface of its network in an L2Advertisement, or none at all: kubectl "
               "get l2advertisements -A -o yaml";
    default:
        return "have an L2Advertisement select a Node that is Ready: kubectl get "
               "l2advertisements -A -o yaml";
    }
}

static void tell_nobody(const struct claims *claims)
{
    AUTOFAULTS struct faults faults = { 0 };
    char text[IP_STRLEN];
    const int64_t now_ms = clock_boot_ms();
    vec_each(struct own_claim *const, claim, &claims->list) {
        if (claim_nobody_ms(*claim) > now_ms)
            continue;
        vec_each(const struct claim_address, address, &(*claim)->addresses)
            fault_raise(&faults, ip_str(&address->ip, text), claim_no_holder,
                        .reason = placement_words((*claim)->reason),
                        .remedy = let_one_have_it((*claim)->reason));
    }
    tell(claims, "nobody", &faults);
}

static void tell_wires(const struct claims *claims)
{
    AUTOFAULTS struct faults faults = { 0 };
    vec_each(struct own_claim *const, claim, &claims->list) {
        vec_each(const struct claim_address, address, &(*claim)->addresses) {
            int error = address->ifindex ? wires_error(claims->wires, address->ifindex) : 0;
            if (error < 0)
                fault_raise(
                    &faults, address->interface, claim_no_packet_socket, .reason = strerror(-error),
                    .remedy = error == -EPERM ? "give agentd CAP_NET_RAW: claim-addresses.conf"
                                              : remedy_for_kernel(error));
        }
    }
    tell(claims, "interfaces", &faults);
}

static void note_states(const struct claims *claims)
{
    bool any = false;
    int64_t now_ms = clock_boot_ms();
    vec_each(struct own_claim *const, claim, &claims->list) {
        const struct claim_address *first = (*claim)->addresses.items;
        enum claim_state state = (*claim)->addresses.count
                                     ? state_of(*claim, first, claim_holder(*claim, now_ms))
                                     : CLAIM_BARRED;
        if (state == (*claim)->told && (*claim)->since_wall_ms)
            continue;
        (*claim)->told = state;
        (*claim)->since_wall_ms = clock_wall_ms();
        log_info("claim %s: %s", (*claim)->key, claim_state_name(state));
        any = true;
    }
    if (any && claims->options.changed)
        claims->options.changed(claims->options.context);
}

void claims_tell(struct claims *claims)
{
    claims->options.counts->claims = (uint32_t)claims->list.count;
    note_states(claims);
    tell_taken(claims);
    tell_store(claims);
    tell_stuck(claims);
    tell_nobody(claims);
    tell_wires(claims);
}

void claims_tell_none(struct fault_book *faults)
{
    static const char *const groups[] = { "conflicts", "interfaces", "links",
                                          "nobody",    "records",    "store" };
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        (void)fault_book_replace(faults, "addresses", groups[i], NULL, clock_wall_ms());
}
