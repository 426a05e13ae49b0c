// SPDX-License-Identifier: Apache-2.0
/*
 * The claims of this node; see claims.h. Made by agentd/part_addresses.c.
 *
 * A turn walks all claims: which to hold, which addresses the kernel keeps, what is announced, what
 * the store is asked. Each event schedules a turn, and several events share one. While this node
 * holds an address, a turn runs once a second to detect a clock jump: address lifetimes in the
 * kernel do not count suspended time.
 */
#include "segment/claims.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "plan/claims/kept_table.h"
#include "segment/claims_inside.h"

enum {
    PRIORITY = -10, /* before passes: a delay loses an address */
    TICK_MS = 1000,
    LOOK_MS = 5000, /* between reads of the kernel without a change */
    JUMP_MS = 200,
};

struct lease_rules claims_rules(int64_t duration_ms)
{
    struct lease_rules rules = lease_rules_default;
    rules.duration_ms = duration_ms;
    return rules;
}

/* ---- Claims ---- */

static void claim_free(struct own_claim *claim)
{
    if (claim->request)
        claim->claims->options.store.ops->cancel(claim->request);
    contenders_drop(claim->others);
    vec_done(&claim->addresses);
    free(claim);
}

static struct own_claim *claim_made(struct claims *claims, const char *key)
{
    struct own_claim *claim = claims_find(claims, key);
    if (claim)
        return claim;
    claim = calloc(1, sizeof(*claim));
    if (!claim || vec_reserve(&claims->list, 1) < 0) {
        free(claim);
        return NULL;
    }
    size_t place = claims_place(claims, key);
    struct own_claim **at = &claims->list.items[place];
    memmove(at + 1, at, (claims->list.count - place) * sizeof(*at));
    *at = claim;
    claims->list.count++;
    claim->claims = claims;
    (void)snprintf(claim->key, sizeof(claim->key), "%s", key);
    lease_begin(&claim->lease, &claims->options.rules, claims->node, 0);
    return claim;
}

/* ---- List of claims ---- */

static const struct claim_address *address_of(const struct own_claim *claim, const struct ip *ip,
                                              uint32_t ifindex)
{
    vec_each(const struct claim_address, address, &claim->addresses) {
        if (address->ifindex == ifindex && ip_equal(&address->ip, ip))
            return address;
    }
    return NULL;
}

/* An address that was known before keeps its state; a new one may be in the kernel already. */
static struct claim_address address_made(struct own_claim *claim,
                                         const struct holding_address *planned, int64_t now_ms)
{
    struct claim_address address = { 0 };
    const struct claim_address *known = address_of(claim, &planned->ip, planned->ifindex);
    if (known)
        address = *known;
    else
        announcing_stop(&address.announcing);
    if (address.installed && !planned->there)
        claim->claims->look = true; /* another program deleted or replaced it */
    if (known && memcmp(known->mac, planned->mac, sizeof(known->mac)) != 0)
        announcing_again(&address.announcing, now_ms); /* a bond's other port, for one */
    address.ip = planned->ip;
    address.ifindex = planned->ifindex;
    memcpy(address.mac, planned->mac, sizeof(address.mac));
    memcpy(address.interface, planned->interface, sizeof(address.interface));
    if (planned->service)
        (void)snprintf(address.service, sizeof(address.service), "%s/%s",
                       planned->service->object.namespace, planned->service->object.name);
    if (!known && !claim->claims->begun && claims_kept_until(claim->claims, &address)) {
        address.installed = true;
        announcing_inherit(&address.announcing, now_ms);
    }
    return address;
}

static int take_addresses(struct own_claim *claim, const struct holding *holding, int64_t now_ms)
{
    VEC(struct claim_address) fresh = { 0 };
    int r = vec_reserve(&fresh, holding->addresses.count);
    if (r < 0)
        return r;
    vec_each(const struct holding_address, planned, &holding->addresses)
        fresh.items[fresh.count++] = address_made(claim, planned, now_ms);
    vec_move(&claim->addresses, &fresh);
    return 0;
}

/*
 * Adopts addresses that an earlier run of the agent put into the kernel and that may still be
 * there.
 */
static void inherit(struct own_claim *claim)
{
    int64_t until_ms = 0;
    vec_each(const struct claim_address, address, &claim->addresses) {
        int64_t kept_ms = claims_kept_until(claim->claims, address);
        until_ms = until_ms && kept_ms ? MIN(until_ms, kept_ms) : MAX(until_ms, kept_ms);
    }
    if (until_ms)
        lease_begin(&claim->lease, &claim->claims->options.rules, claim->claims->node, until_ms);
}

static int take(struct claims *claims, const struct holding *holding, int64_t now_ms)
{
    struct own_claim *claim = claim_made(claims, holding->key);
    if (!claim)
        return -ENOMEM;
    claim->wanted = true;
    claim->reason = holding->reason;
    claim->lacks = holding->lacks;
    int r = claim_nodes_take(claim, holding->others, now_ms);
    r = r < 0 ? r : take_addresses(claim, holding, now_ms);
    if (!claims->begun)
        inherit(claim);
    return r;
}

int claims_take(struct claims *claims, const holding_list *holdings)
{
    int64_t now_ms = clock_boot_ms();
    int r = claims->begun ? 0 : claims_inherit(claims, now_ms);
    vec_each(struct own_claim *const, claim, &claims->list)
        (*claim)->wanted = false;
    vec_each(const struct holding, holding, holdings)
        r = r == 0 ? take(claims, holding, now_ms) : r;
    claim_nodes_settle(claims);
    if (r < 0)
        return r;
    claims->look = claims->look || !claims->begun;
    claims->begun = true;
    claims_listen(claims);
    deferred_schedule(claims->turn);
    return 0;
}

/* ---- Turns ---- */

static void drop_over(struct claims *claims)
{
    size_t kept = 0;
    for (size_t i = 0; i < claims->list.count; i++) {
        struct own_claim *claim = claims->list.items[i];
        if (claim_is_over(claim))
            claim_free(claim);
        else
            claims->list.items[kept++] = claim;
    }
    claims->list.count = kept;
}

static void note_slept(struct claims *claims, int64_t slept_ms, int64_t now_ms)
{
    claims->look = true;
    claims->woke_ms = now_ms;
    vec_each(struct own_claim *const, claim, &claims->list)
        lease_slept(&(*claim)->lease, slept_ms, now_ms);
}

/*
 * After a suspend, the kernel keeps addresses for as long again as the machine slept, and watches
 * have missed changes.
 */
static void notice_jump(struct claims *claims, int64_t now_ms)
{
    int64_t skew_ms = now_ms - clock_mono_ms();
    if (skew_ms > claims->skew_ms + JUMP_MS)
        note_slept(claims, skew_ms - claims->skew_ms, now_ms);
    if (claims->options.counts->held && now_ms - claims->looked_ms >= LOOK_MS)
        claims->look = true;
    claims->skew_ms = skew_ms;
}

static void arm(struct claims *claims, int64_t now_ms)
{
    int64_t next_ms = claims->options.counts->held || claims->look ? now_ms + TICK_MS : INT64_MAX;
    vec_each(struct own_claim *const, claim, &claims->list)
        next_ms = MIN(next_ms, claim_next_ms(*claim, now_ms));
    next_ms = MIN(next_ms, claim_records_next_ms(claims));
    next_ms = MIN(next_ms, telling_next_ms(&claims->telling));
    next_ms = MIN(next_ms, address_probe_due_ms(&claims->address_probe));
    next_ms = MIN(next_ms, claims_deaf_next_ms(claims, now_ms));
    if (next_ms == INT64_MAX)
        timer_disarm(claims->timer);
    else
        timer_arm(claims->timer, MAX(next_ms - now_ms, 1));
}

/* Addresses are removed before anything is sent. */
static void turn(void *context)
{
    struct claims *claims = context;
    int64_t now_ms = clock_boot_ms();
    if (!claims->begun)
        return;
    notice_jump(claims, now_ms);
    claims_pace(claims, now_ms);
    vec_each(struct own_claim *const, claim, &claims->list)
        claim_rank(*claim, now_ms);
    claims_keep(claims, now_ms);
    vec_each(struct own_claim *const, claim, &claims->list)
        claim_speak(*claim, now_ms);
    claims_ask(claims, now_ms);
    claims_probe(claims, now_ms);
    claims_tell_neighbours(claims, now_ms);
    drop_over(claims);
    claim_records_tidy(claims, now_ms);
    claims_tell(claims);
    arm(claims, now_ms);
}

/* ---- Callbacks of the store ---- */

static void on_record(void *context, const char *key, const struct lease_record *record,
                      const char *version)
{
    struct claims *claims = context;
    struct own_claim *claim = claims_find(claims, key);
    claim_records_note(claims, key, record, version, false);
    if (claim)
        claim_heard(claim, record, version, clock_boot_ms());
    else
        deferred_schedule(claims->turn); /* its deletion may be due later */
}

static void on_watching(void *context, const char *why, const char *remedy)
{
    struct claims *claims = context;
    (void)snprintf(claims->watch_trouble, sizeof(claims->watch_trouble), "%s", why ? why : "");
    if (!why)
        claims->watch_lost_ms = 0;
    else if (claims->watch_lost_ms == 0)
        claims->watch_lost_ms = clock_boot_ms();
    claims->watch_remedy = remedy;
    claims->hears = !why;
    deferred_schedule(claims->turn);
}

/* ---- Life ---- */

static int open_all(struct claims *claims, const char *node)
{
    sd_event *event = claims->options.event;
    const struct claim_store *store = &claims->options.store;
    const struct claim_listener listener = { on_record, on_watching, claims };
    claims->node = strdup(node);
    int r = claims->node ? nl_open(&claims->netlink) : -ENOMEM;
    if (r < 0)
        return r;
    r = wires_new(event, claims_on_heard, claims, &claims->wires);
    if (r < 0)
        return r;
    r = deferred_new(event, PRIORITY, turn, claims, &claims->turn);
    if (r < 0)
        return r;
    r = timer_new(event, PRIORITY, turn, claims, &claims->timer);
    if (r < 0)
        return r;
    r = claim_answers_begin(claims);
    return r < 0 ? r : store->ops->watch(store->data, &listener);
}

int claims_new(const struct claims_options *options, struct claims **ret_claims)
{
    CLEANUP(claims_freep) struct claims *claims = calloc(1, sizeof(*claims));
    if (!claims) {
        options->store.ops->free(options->store.data);
        return -ENOMEM;
    }
    claims->options = *options;
    claims->kept = (struct sorted)SORTED(struct kept_address, kept_address_cmp);
    claims->applied = (struct sorted)SORTED(struct kept_address, kept_address_cmp);
    claim_records_begin(claims);
    claims->skew_ms = clock_boot_ms() - clock_mono_ms();
    int r = open_all(claims, options->node);
    if (r < 0)
        return r;
    *ret_claims = TAKE_PTR(claims);
    return 0;
}

void claims_free(struct claims *claims)
{
    if (!claims)
        return;
    claim_answers_end(claims);
    vec_each(struct own_claim *const, claim, &claims->list)
        claim_free(*claim);
    vec_done(&claims->list);
    claim_nodes_end(claims);
    claim_records_end(claims);
    claim_neighbours_end(claims);
    claims->options.store.ops->free(claims->options.store.data);
    timer_free(claims->timer);
    deferred_free(claims->turn);
    wires_free(claims->wires);
    nl_close(claims->netlink);
    sorted_done(&claims->kept);
    sorted_done(&claims->applied);
    free(claims->node);
    free(claims);
}
