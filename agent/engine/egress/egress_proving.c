// SPDX-License-Identifier: Apache-2.0
/*
 * Proves the addresses of a gateway; see egress_proving.h. Two gateways that translate to one
 * address break each other's flows: the fabric sends a reply to either of them. A gateway learns of
 * another one only where a routing daemon has put the other's route into this node's own tables. So
 * the twin also reports the route of the address itself: if our guard is in main, and the address
 * is routed elsewhere nevertheless, another node announces it.
 */
#include "engine/egress/egress_proving.h"

#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "apply/egress/gateway/twin.h"
#include "apply/nat/proof/prove.h"
#include "base/log.h"
#include "base/macro.h"
#include "faults/egress.h"
#include "faults/raise.h"
#include "plan/egress/egress_outside.h"
#include "plan/egress/gateway_address.h"

/* The findings on one address. */
struct verdict {
    struct gateway_proof proof;
    bool rival;
};

static void say(struct verdict *verdict, const char *format, ...) PRINTF_LIKE(2, 3);
static void say(struct verdict *verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(verdict->proof.why, sizeof(verdict->proof.why), format, args);
    va_end(args);
}

/* An unassigned address (RFC 5737, RFC 3849): the twin accepts any client. */
static struct ip some_client(uint8_t family)
{
    struct ip ip = { 0 };
    (void)ip_parse(family == IP_V4 ? "198.51.100.1" : "2001:db8:ffff::1", &ip);
    return ip;
}

static bool has_program(const struct egress_ground *ground, uint32_t ifindex)
{
    vec_each(const struct nat_attachment, it, ground->attached) {
        if (it->hook == EGRESS_HOOK_GATEWAY_IN && it->ifindex == ifindex)
            return true;
    }
    return false;
}

static uint32_t first_uplink(const struct egress_ground *ground)
{
    vec_each(const struct nat_attachment, it, ground->attached) {
        if (it->hook == EGRESS_HOOK_GATEWAY_IN)
            return it->ifindex;
    }
    return 0;
}

static bool is_guarded(const struct egress_ground *ground, const struct ip *address)
{
    const struct route guard = {
        .table = ROUTE_TABLE_MAIN,
        .prefix = ip_host_prefix(address),
        .metric = ROUTE_METRIC_GUARD,
    };
    const struct sorted *routes = kernel_routes(ground->kernel);
    size_t at = sorted_lower_bound(routes, &guard);
    const struct route *found = at < routes->count ? sorted_at(routes, at) : NULL;
    return found && route_slot_cmp(found, &guard) == 0;
}

static void judge(const struct egress_ground *ground, const struct egress_question *question,
                  const struct egress_answer *answer, struct verdict *verdict)
{
    char text[IP_STRLEN], name[IF_NAMESIZE];
    switch (answer->found) {
    case EGRESS_TWIN_SENT:
        break;
    case EGRESS_TWIN_NO_ROUTE:
        say(verdict, "no way to %s: %s", ip_str(&question->destination, text),
            nat_route_text((int)answer->what));
        return;
    case EGRESS_TWIN_NOT_OURS:
        say(verdict, "the program does not take clients' packets");
        return;
    default:
        say(verdict, "the program drops clients' packets (cause %u)", answer->what);
        return;
    }
    if (!ip_equal(&answer->source, &verdict->proof.address) ||
        !ip_equal(&answer->destination, &question->destination))
        say(verdict, "a packet came out under %s", ip_str(&answer->source, text));
    else if (!has_program(ground, answer->what))
        say(verdict, "packets leave by %s, which is no uplink",
            if_indextoname(answer->what, name) ? name : "an interface that is gone");
    else
        verdict->proof.proved = true;
}

static struct verdict look_at(const struct egress_proving *proving,
                              const struct egress_ground *ground, const struct ip *address)
{
    const int family = address->family == IP_V6;
    struct verdict verdict = {
        .proof.address = *address,
        .proof.withdrawn = ground->settings->phase == EGRESS_GATE_GONE,
    };
    const struct egress_question question = {
        .client = some_client(address->family),
        .destination = proving->outside[family],
        .source = *address,
        .ifindex = first_uplink(ground),
    };
    struct egress_answer answer = { 0 };
    if (!ground->gate)
        say(&verdict, "the gateway can't be had");
    else if (!ground->hooked)
        say(&verdict, "an interface does not carry the program");
    else if (!question.ifindex)
        say(&verdict, "this node has no uplink");
    else if (ground->settings->own[family].family == IP_NONE)
        say(&verdict, "this node has no address where clients reach it");
    else if (question.destination.family == IP_NONE)
        say(&verdict, "it serves no Egress with destinations of the family");
    else if (egress_gate_ask(ground->gate, ground->settings, &question, &answer) < 0)
        say(&verdict, "the twin can't be run");
    else
        judge(ground, &question, &answer, &verdict);
    verdict.rival = answer.found != EGRESS_TWIN_NOTHING && answer.found != EGRESS_TWIN_NOT_OURS &&
                    answer.home == 0 && is_guarded(ground, address);
    return verdict;
}

/* Whether the n-th proof differs from the one on the board. */
static bool differs(const struct egress_proving *proving, const struct verdict *verdict, uint32_t n)
{
    const struct gateway_proof *old = &proving->proofs.items[n];
    return n >= proving->proofs.count || !ip_equal(&old->address, &verdict->proof.address) ||
           old->proved != verdict->proof.proved || old->withdrawn != verdict->proof.withdrawn ||
           strcmp(old->why, verdict->proof.why) != 0;
}

/* Only checks; the round that it requests makes the proofs again. */
static bool look_at_all(void *context, int64_t now_ms)
{
    struct egress_proving *proving = context;
    (void)now_ms;
    const struct egress_ground ground = proving->ground(proving->context);
    const ip_list *addresses = gateway_addresses(ground.config);
    bool moved = proving->proofs.count != addresses->count;
    for (uint32_t n = 0; n < addresses->count; n++) {
        const struct verdict verdict = look_at(proving, &ground, &addresses->items[n]);
        moved |= differs(proving, &verdict, n) || verdict.rival != proving->rivals[n];
    }
    return moved;
}

static void wake(void *context)
{
    struct egress_proving *proving = context;
    proving->wake(proving->wake_context);
}

static const struct look looks[] = { { "gateway addresses", 200, look_at_all, wake } };

int egress_proving_start(struct egress_proving *proving, const struct engine_setup *setup,
                         struct egress_ground (*ground)(void *context), void *context)
{
    proving->ground = ground;
    proving->context = context;
    proving->wake = setup->wake;
    proving->wake_context = setup->context;
    proving->looks = setup->looks;
    return ground(context).gate ? looks_add(setup->looks, looks, ARRAY_SIZE(looks), proving) : 0;
}

void egress_proving_done(struct egress_proving *proving)
{
    looks_drop(proving->looks, proving);
    *proving = (struct egress_proving){ 0 };
}

int egress_proving_plan(struct egress_proving *proving, const struct node_facts *facts)
{
    return plan_egress_outside(facts, proving->outside);
}

static void tell_rival(const struct verdict *verdict, struct faults *faults)
{
    char text[IP_STRLEN];
    if (verdict->rival)
        fault_raise(faults, "egress.gateway.addresses", egress_gateway_address_contested,
                    .address = ip_str(&verdict->proof.address, text));
}

/* Puts the n-th proof on the board. */
static int put(struct egress_proving *proving, const struct verdict *verdict, uint32_t n,
               ip_list *touched)
{
    struct gateway_proof *proof = &proving->proofs.items[n];
    proving->rivals[n] = verdict->rival;
    if (!differs(proving, verdict, n))
        return 0;
    int r = n < proving->proofs.count && !ip_equal(&proof->address, &verdict->proof.address)
                ? vec_push(touched, proof->address)
                : 0;
    *proof = verdict->proof;
    return r < 0 ? r : vec_push(touched, proof->address);
}

int egress_proving_follow(struct egress_proving *proving, ip_list *touched, struct faults *faults)
{
    const struct egress_ground ground = proving->ground(proving->context);
    const ip_list *addresses = gateway_addresses(ground.config);
    int r = 0;
    for (uint32_t n = 0; n < addresses->count; n++) {
        const struct verdict verdict = look_at(proving, &ground, &addresses->items[n]);
        tell_rival(&verdict, faults);
        r = put(proving, &verdict, n, touched);
        if (r < 0)
            return r;
    }
    for (size_t n = addresses->count; n < proving->proofs.count; n++) {
        r = vec_push(touched, proving->proofs.items[n].address);
        if (r < 0)
            return r;
    }
    proving->proofs.count = (uint32_t)addresses->count;
    return 0;
}
