/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The decision on a new flow. choose() finds the frontend of the packet, checks whether the source
 * may use it, takes the outcome that the planner set for this kind of source, and picks one
 * endpoint of the set. It only reads maps; a caller that makes the flow stores the client's
 * affinity by remember().
 */
#pragma once

#include "bpf/service/filter.h"

struct verdict {
    __u32 service, port; /* ids */
    __u32 endpoint, generation;
    __u32 count; /* endpoints of the set */
    struct nat_addr addr;
    __be16 endpoint_port;
    __u8 act;        /* enum nat_act */
    __u8 cause;      /* enum nat_cause */
    __u8 set;        /* enum nat_set_kind */
    __u8 masquerade; /* enum nat_masquerade */
    __u8 on_node;
    __u8 origin;
    __u8 bank; /* of the set */
    __u32 affinity_s;
};

enum {
    CHOICES = 6, /* attempts to find an endpoint of a Service that switches all the time */
    AFFINITY_TRIES = 8,
    HALVINGS = 25, /* until one slot is left: endpoint ids have 24 bits */
};

ALWAYS_INLINE const struct nat_frontend_value *frontend_find(const struct nat_addr *addr,
                                                             __be16 port, __u8 protocol)
{
    struct nat_frontend_key key = { .addr = *addr, .port = port, .protocol = protocol };
    const struct nat_frontend_value *value = bpf_map_lookup_elem(&frontends, &key);
    if (value && value->check != nat_frontend_check(&key)) /* just assigned to another key */
        value = bpf_map_lookup_elem(&frontends, &key);
    return value;
}

ALWAYS_INLINE __u64 service_word(__u32 id)
{
    const __u64 *word = bpf_map_lookup_elem(&services, &id);
    return word ? READ_ONCE(*word) : 0;
}

ALWAYS_INLINE struct nat_endpoint_value *endpoint_at(__u32 id)
{
    return bpf_map_lookup_elem(&endpoints, &id);
}

ALWAYS_INLINE int endpoint_lives(__u32 id, __u32 generation)
{
    const struct nat_endpoint_value *endpoint = endpoint_at(id);
    return endpoint && (__u32)READ_ONCE(endpoint->state) == generation;
}

/* Whether loadBalancerSourceRanges of the packet's family, in the bank in force, admit its source.
 */
ALWAYS_INLINE int source_admitted(const struct packet *packet, __u32 service, __u64 word)
{
    int four = packet->family == 4;
    if (!(word & (four ? NAT_SERVICE_RANGES_V4 : NAT_SERVICE_RANGES_V6)))
        return 1;
    struct nat_range_key key = {
        .prefixlen = 32 + 128,
        .owner = bpf_htonl(service << 1 | (word & NAT_SERVICE_BANK)),
        .addr = packet->tuple.src,
    };
    const __u32 *found = bpf_map_lookup_elem(&ranges, &key);
    return found && (!four || *found >= 32 + 96);
}

/* Takes the endpoint if its generation is still the same. Returns 0 if it is gone. */
ALWAYS_INLINE int take_endpoint(__u32 id, __u32 generation, struct verdict *verdict)
{
    const struct nat_endpoint_value *endpoint = endpoint_at(id);
    if (!endpoint || generation == 0)
        return 0;
    __u64 state = READ_ONCE(endpoint->state);
    if ((__u32)state != generation)
        return 0;
    verdict->endpoint = id;
    verdict->generation = generation;
    verdict->addr = endpoint->addr;
    verdict->endpoint_port = endpoint->port;
    verdict->on_node = (state & NAT_ENDPOINT_ON_NODE) != 0;
    return 1;
}

/* The two words of an affinity entry. */
union affinity_choice {
    struct {
        __u32 generation, endpoint : 24, round : 8;
    };
    __u64 word;
};

union affinity_age {
    struct {
        __u32 seen_s, check : 24, round : 8;
    };
    __u64 word;
};

ALWAYS_INLINE struct nat_affinity_key affinity_key(const struct packet *packet,
                                                   const struct verdict *verdict)
{
    return (struct nat_affinity_key){
        .port = verdict->port,
        .set = verdict->set,
        .client = packet->tuple.src,
    };
}

/* The age that a choice made now has, in round 0. */
ALWAYS_INLINE union affinity_age affinity_age_now(const struct nat_affinity_key *key)
{
    return (union affinity_age){
        .seen_s = (__u32)(bpf_ktime_get_coarse_ns() / 1000000000ull),
        .check = nat_check(&key->client, key->port) & 0xffffff,
    };
}

/* Reads the age first: a choice that is made in between is recognized by its later round. */
ALWAYS_INLINE void affinity_read(const struct nat_affinity_value *entry,
                                 union affinity_choice *ret_choice, union affinity_age *ret_age)
{
    ret_age->word = READ_ONCE(entry->age);
    ret_choice->word = READ_ONCE(entry->choice);
}

/*
 * Whether a set of a port has an endpoint with this generation. `at`: the port's index in "ports".
 * An endpoint does not record its sets, since several ports may have it.
 */
GLOBAL int set_has(__u32 at, __u32 kind, __u32 endpoint, __u32 generation)
{
    const struct nat_port_value *port = bpf_map_lookup_elem(&ports, &at);
    if (!port)
        return 0;
    __u64 set = kind == NAT_SET_LOCAL ? READ_ONCE(port->sets[NAT_SET_LOCAL])
                                      : READ_ONCE(port->sets[NAT_SET_CLUSTER]);
    __u64 sought = (__u64)endpoint << 32 | generation;
    __u32 first = set >> 32, count = (__u32)set;
    for (__u64 i = 0; i < HALVINGS && count; i++) {
        __u32 half = count / 2, index = first + half;
        const __u64 *slot = bpf_map_lookup_elem(&slots, &index);
        __u64 word = slot ? READ_ONCE(*slot) : sought;
        if (word == sought)
            return slot != NULL;
        if (word < sought) {
            first = index + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return 0;
}

/* Takes the client's last endpoint, if it is still in the set and the timeout has not passed. */
ALWAYS_INLINE int take_remembered(union affinity_choice choice, union affinity_age age,
                                  union affinity_age now, struct verdict *verdict)
{
    if ((__s32)(now.seen_s - age.seen_s) > (__s32)verdict->affinity_s)
        return 0;
    __u32 at = verdict->port * NAT_BANKS + (verdict->bank & 1);
    if (!set_has(at, verdict->set, choice.endpoint, choice.generation))
        return 0;
    return take_endpoint(choice.endpoint, choice.generation, verdict);
}

/* Takes the client's last endpoint in this set, or else in the other: it may be in both. */
ALWAYS_INLINE int take_last(const struct packet *packet, struct verdict *verdict)
{
    struct nat_affinity_key key = affinity_key(packet, verdict);
    union affinity_age now = affinity_age_now(&key), age;
    union affinity_choice choice;
    for (int i = 0; i < NAT_SETS; i++) {
        key.set = (verdict->set + i) % NAT_SETS;
        const struct nat_affinity_value *found = bpf_map_lookup_elem(&affinity, &key);
        if (!found)
            continue;
        affinity_read(found, &choice, &age);
        if (age.check == now.check && age.round == choice.round &&
            take_remembered(choice, age, now, verdict))
            return 1;
    }
    return 0;
}

/* Takes an endpoint of the set: at random if `pick` is 0, else the n-th, from 1. Skips a slot whose
 * endpoint was just deleted. */
ALWAYS_INLINE int take_any(__u64 set, __u32 pick, struct verdict *verdict)
{
    __u32 first = set >> 32, count = (__u32)set;
    if (count == 0)
        return 0;
    __u32 at = pick ? pick - 1 : bpf_get_prandom_u32();
    for (int i = 0; i < 4; i++) {
        __u32 index = first + (at + i) % count;
        const __u64 *slot = bpf_map_lookup_elem(&slots, &index);
        __u64 word = slot ? READ_ONCE(*slot) : 0;
        if (take_endpoint(word >> 32, (__u32)word, verdict))
            return 1;
        if (pick)
            return 0;
    }
    return 0;
}

ALWAYS_INLINE void refuse(struct verdict *verdict, __u8 act, __u8 cause)
{
    verdict->act = act;
    verdict->cause = cause;
}

/* A flow whose endpoint is its own sender is masqueraded in any case. */
ALWAYS_INLINE void see_hairpin(const struct packet *packet, struct verdict *verdict)
{
    if (verdict->masquerade != NAT_MASQUERADE_YES)
        verdict->masquerade = addr_equal(&verdict->addr, &packet->tuple.src)
                                  ? NAT_MASQUERADE_HAIRPIN
                                  : NAT_MASQUERADE_NO;
}

/*
 * Applies the outcome for this kind of frontend and origin, and picks an endpoint. Returns 0, or <
 * 0 if the set has no live endpoint left.
 */
GLOBAL int choose_endpoint(const struct packet *packet, __u64 word, __u32 kind, __u32 pick,
                           struct verdict *verdict)
{
    if (!packet || !verdict)
        return -1;
    __u32 bank = word & NAT_SERVICE_BANK, index = verdict->port * 2 + bank;
    const struct nat_port_value *port = bpf_map_lookup_elem(&ports, &index);
    if (!port)
        return 0;
    __u32 outcome = READ_ONCE(port->outcomes) >> nat_outcome_shift(kind, verdict->origin) & 0xf;
    verdict->set = outcome & NAT_OUTCOME_LOCAL ? NAT_SET_LOCAL : NAT_SET_CLUSTER;
    __u64 set = verdict->set == NAT_SET_LOCAL ? READ_ONCE(port->sets[NAT_SET_LOCAL])
                                              : READ_ONCE(port->sets[NAT_SET_CLUSTER]);
    if ((outcome & NAT_OUTCOME_ACT) == NAT_ACT_REJECT - NAT_ACT_FORWARD) {
        refuse(verdict, NAT_ACT_REJECT, NAT_CAUSE_NO_ENDPOINTS);
        return 0;
    }
    if ((outcome & NAT_OUTCOME_ACT) == NAT_ACT_DROP - NAT_ACT_FORWARD) {
        refuse(verdict, NAT_ACT_DROP, NAT_CAUSE_NO_LOCAL);
        return 0;
    }
    verdict->count = (__u32)set;
    verdict->bank = bank;
    verdict->affinity_s = word >> NAT_SERVICE_AFFINITY_SHIFT & 0xffffff;
    if (!(verdict->affinity_s && !pick && take_last(packet, verdict)) &&
        !take_any(set, pick, verdict))
        return -1;
    verdict->act = NAT_ACT_FORWARD;
    if (outcome & NAT_OUTCOME_MASQ)
        verdict->masquerade = NAT_MASQUERADE_YES;
    see_hairpin(packet, verdict);
    return 0;
}

/* Judges a packet to an address on which no Service has this port. */
ALWAYS_INLINE void judge_address(const struct nat_control *control, const struct packet *packet,
                                 struct verdict *verdict)
{
    const struct nat_frontend_value *address = frontend_find(&packet->tuple.dst, 0, 0);
    if (address && address->kind == NAT_FRONTEND_REFUSED) {
        verdict->service = address->service;
        return refuse(verdict, NAT_ACT_REJECT, NAT_CAUSE_UNDEFINED_PORT);
    }
    if (address && address->kind == NAT_FRONTEND_FOREIGN)
        return refuse(verdict, NAT_ACT_PASS, NAT_CAUSE_OTHER_PROXY);
    if (in_service_nets(control, &packet->tuple.dst))
        refuse(verdict, NAT_ACT_DROP, NAT_CAUSE_UNALLOCATED);
}

/* Fills in `verdict`, of which the caller has set the origin and zeroed the rest. Returns 0. */
SUBPROGRAM int choose(const struct nat_control *control, const struct packet *packet, __u32 pick,
                      struct verdict *verdict)
{
    const struct nat_tuple *tuple = &packet->tuple;
    const struct nat_frontend_value *frontend = NULL;
    if (packet->shape == SHAPE_PORTS || packet->shape == SHAPE_FIRST || tuple->dport)
        frontend = frontend_find(&tuple->dst, tuple->dport, tuple->protocol);
    if (!frontend) {
        judge_address(control, packet, verdict);
        return 0;
    }
    __u32 kind = frontend->kind;
    verdict->service = frontend->service;
    verdict->port = frontend->port;
    /* The Service may switch after its word was read; then all endpoints of the old bank end. */
    for (int i = 0; i < CHOICES; i++) {
        __u64 word = service_word(verdict->service);
        if (!(word & NAT_SERVICE_USED) || kind >= NAT_FRONTEND_KINDS)
            return 0;
        if (kind == NAT_FRONTEND_LOAD_BALANCER &&
            !source_admitted(packet, verdict->service, word)) {
            refuse(verdict, NAT_ACT_DROP, NAT_CAUSE_SOURCE_RANGE);
            return 0;
        }
        if (choose_endpoint(packet, word, kind, pick, verdict) == 0)
            return 0;
    }
    refuse(verdict, NAT_ACT_REJECT, NAT_CAUSE_NO_ENDPOINTS);
    return 0;
}

/* Replaces a word that was read as `from`. Returns 0 if another CPU was first. */
ALWAYS_INLINE int affinity_swap(void *word, __u64 from, __u64 to)
{
    return from == to || __sync_val_compare_and_swap((__u64 *)word, from, to) == from;
}

/*
 * Stores the client's endpoint for the following flows; every new flow restarts the timeout. When
 * several CPUs judge first packets of one client at the same time, one choice is stored and the
 * others follow it. An entry is inserted only where there is none. A choice that no longer holds is
 * replaced by one compare-and-swap, which begins a round; the age is then brought to the same round
 * by the first CPU that gets there, and until then every CPU treats the choice as new. Nothing is
 * ever reverted, and words of different rounds differ even if they name the same endpoint.
 */
GLOBAL int remember(const struct packet *packet, struct verdict *verdict)
{
    if (!packet || !verdict)
        return 0;
    struct nat_affinity_key key = affinity_key(packet, verdict);
    union affinity_age now = affinity_age_now(&key), age;
    union affinity_choice choice;
    /* clang 13 keeps the counter on the stack, where the verifier tracks 64 bits but not 32. */
    for (__u64 i = 0; i < AFFINITY_TRIES; i++) {
        struct nat_affinity_value *found = bpf_map_lookup_elem(&affinity, &key);
        union affinity_choice own = {
            .generation = verdict->generation,
            .endpoint = verdict->endpoint & 0xffffff,
        };
        now.round = 0;
        if (!found) {
            struct nat_affinity_value value = { .choice = own.word, .age = now.word };
            if (map_put(&affinity, &key, &value, BPF_NOEXIST) == 0)
                return 0;
            continue;
        }
        affinity_read(found, &choice, &age);
        now.round = choice.round;
        if (age.check != now.check) /* just assigned to another key */
            continue;
        if (age.round != choice.round) {
            affinity_swap(&found->age, age.word, now.word);
            continue;
        }
        if (take_remembered(choice, age, now, verdict)) {
            see_hairpin(packet, verdict);
            if (affinity_swap(&found->age, age.word, now.word) &&
                READ_ONCE(found->choice) == choice.word)
                return 0;
            continue;
        }
        own.round = now.round = choice.round + 1;
        if (affinity_swap(&found->choice, choice.word, own.word)) {
            affinity_swap(&found->age, age.word, now.word);
            return 0;
        }
    }
    return 0;
}
