// SPDX-License-Identifier: Apache-2.0
/*
 * The table of proofs; see nat_proofs.h. It consists of two sorted tables: one item for each
 * Service and address, and the sums by address, which the route planner borrows. Both change once
 * in a pass, however many Services the pass is about.
 */
#include "engine/nat/proof/nat_proofs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "plan/nat/nat_change.h"

void nat_proofs_init(struct nat_proofs *proofs)
{
    *proofs = (struct nat_proofs){
        .of_services = SORTED(struct service_proof, service_proof_cmp),
        .of_addresses = SORTED(struct proof, proof_cmp),
    };
}

static void service_proof_done(struct service_proof *proof)
{
    free(proof->service);
    free(proof->why);
}

void service_proofs_done(service_proof_list *changes)
{
    vec_each(struct service_proof, proof, changes) {
        service_proof_done(proof);
    }
    vec_done(changes);
}

void nat_proofs_done(struct nat_proofs *proofs)
{
    sorted_each(struct service_proof, proof, &proofs->of_services) {
        service_proof_done(proof);
    }
    sorted_done(&proofs->of_services);
    sorted_done(&proofs->of_addresses);
}

static int push(service_proof_list *changes, struct service_proof proof, const char *why)
{
    if (why && *why)
        proof.why = strdup(why);
    if (proof.service && (!why || !*why || proof.why) && vec_push(changes, proof) == 0)
        return 0;
    service_proof_done(&proof);
    return -ENOMEM;
}

static const struct nat_proof *find(const nat_proof_list *list, const struct ip *address)
{
    for (size_t i = 0; list && i < list->count; i++) {
        if (ip_equal(&list->items[i].address, address))
            return &list->items[i];
    }
    return NULL;
}

int nat_proofs_change(service_proof_list *changes, const struct nat_row *row,
                      const ip_list *addresses, const nat_proof_list *list)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < addresses->count; i++) {
        const struct ip *address = &addresses->items[i];
        const struct nat_proof *proof = find(list, address);
        const struct service_proof change = {
            .address = *address,
            .service = text_format("%s/%s", row->namespace, row->name),
            .gone = !proof,
            .as_planned = proof && proof->as_planned,
            .forwards = proof && proof->served,
        };
        r = push(changes, change, proof ? proof->why : NULL);
    }
    return r;
}

int nat_proofs_inherit(service_proof_list *changes, const struct ip *address)
{
    const struct service_proof proof = {
        .address = *address,
        .service = strdup(""),
        .as_planned = true,
        .forwards = true,
    };
    return push(changes, proof, NULL);
}

int nat_proofs_disinherit(const struct nat_proofs *proofs, service_proof_list *changes)
{
    int r = 0;
    sorted_each(const struct service_proof, proof, &proofs->of_services) {
        if (!*proof->service)
            r = push(changes,
                     (struct service_proof){
                         .address = proof->address, .service = strdup(""), .gone = true },
                     NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

int nat_proofs_invalidate(const struct nat_proofs *proofs, const char *why,
                          service_proof_list *changes)
{
    sorted_each(const struct service_proof, proof, &proofs->of_services) {
        int r = push(
            changes,
            (struct service_proof){ .address = proof->address, .service = strdup(proof->service) },
            why);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The first item of an address: no Service's name sorts before "". */
static size_t first_of(const struct nat_proofs *proofs, const struct ip *address)
{
    const struct service_proof key = { .address = *address, .service = (char *)"" };
    return sorted_lower_bound(&proofs->of_services, &key);
}

bool nat_proofs_is_inherited(const struct nat_proofs *proofs, const struct ip *address)
{
    size_t at = first_of(proofs, address);
    const struct service_proof *first =
        at < proofs->of_services.count ? sorted_at(&proofs->of_services, at) : NULL;
    return first && !*first->service && ip_equal(&first->address, address);
}

static bool sum_of(const struct nat_proofs *proofs, const struct ip *address, bool *ret_proved)
{
    bool known = false, as_planned = true, forwards = false;
    for (size_t i = first_of(proofs, address); i < proofs->of_services.count; i++) {
        const struct service_proof *proof = sorted_at(&proofs->of_services, i);
        if (!ip_equal(&proof->address, address))
            break;
        known = true;
        as_planned &= proof->as_planned;
        forwards |= proof->forwards;
    }
    *ret_proved = as_planned && forwards;
    return known;
}

/* A Service's proof ends the inherited proof of its address. */
static int end_inherited(const struct nat_proofs *proofs, service_proof_list *changes)
{
    size_t count = changes->count;
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        const struct ip address = changes->items[i].address;
        if (*changes->items[i].service && nat_proofs_is_inherited(proofs, &address))
            r = push(
                changes,
                (struct service_proof){ .address = address, .service = strdup(""), .gone = true },
                NULL);
    }
    return r;
}

static int change_cmp(const void *a, const void *b)
{
    return service_proof_cmp(a, b);
}

/*
 * Sorts and drops duplicates. A Service is in a pass only once, so equal items have the same
 * result.
 */
static void unite(service_proof_list *changes)
{
    vec_sort(changes, change_cmp);
    size_t kept = 0;
    for (size_t i = 0; i < changes->count; i++) {
        if (kept && change_cmp(&changes->items[kept - 1], &changes->items[i]) == 0) {
            service_proof_done(&changes->items[i]);
            continue;
        }
        changes->items[kept++] = changes->items[i];
    }
    changes->count = kept;
}

static int merge_sums(struct nat_proofs *proofs, const service_proof_list *changes,
                      ip_list *changed)
{
    AUTOFREE struct proof *sums = calloc(changes->count, sizeof(*sums));
    AUTOFREE struct sorted_change *merge = calloc(changes->count, sizeof(*merge));
    size_t count = 0;
    if (!sums || !merge)
        return -ENOMEM;
    for (size_t i = 0; i < changes->count; i++) {
        const struct ip *address = &changes->items[i].address;
        struct proof sum = { .address = *address };
        if (count && ip_equal(&sums[count - 1].address, address))
            continue;
        bool known = sum_of(proofs, address, &sum.proved);
        const struct proof *old = sorted_find(&proofs->of_addresses, &sum);
        if ((old && old->proved) != (known && sum.proved) && vec_push(changed, *address) < 0)
            return -ENOMEM;
        sums[count] = sum;
        merge[count] = (struct sorted_change){ .item = &sums[count], .remove = !known };
        count++;
    }
    return sorted_merge(&proofs->of_addresses, merge, count);
}

int nat_proofs_commit(struct nat_proofs *proofs, service_proof_list *changes, ip_list *changed)
{
    if (changes->count == 0)
        return 0;
    int r = end_inherited(proofs, changes);
    if (r < 0)
        return r;
    unite(changes);
    AUTOFREE struct sorted_change *merge = calloc(changes->count, sizeof(*merge));
    AUTOFREE struct service_proof *stale = calloc(changes->count, sizeof(*stale));
    if (!merge || !stale)
        return -ENOMEM;
    for (size_t i = 0; i < changes->count; i++) {
        const struct service_proof *old = sorted_find(&proofs->of_services, &changes->items[i]);
        if (old)
            stale[i] = *old;
        merge[i] =
            (struct sorted_change){ .item = &changes->items[i], .remove = changes->items[i].gone };
    }
    r = sorted_merge(&proofs->of_services, merge, changes->count);
    if (r < 0)
        return r;
    for (size_t i = 0; i < changes->count; i++)
        service_proof_done(&stale[i]);
    r = merge_sums(proofs, changes, changed);
    vec_each(struct service_proof, change, changes) {
        if (change->gone)
            service_proof_done(change);
    }
    vec_done(changes);
    return r;
}

void nat_proofs_count(const struct nat_proofs *proofs, uint32_t *ret_proved, uint32_t *ret_unproved)
{
    *ret_proved = *ret_unproved = 0;
    sorted_each(const struct proof, proof, &proofs->of_addresses) {
        *ret_proved += proof->proved;
        *ret_unproved += !proof->proved;
    }
}

bool nat_proofs_find(const struct nat_proofs *proofs, const struct ip *address,
                     struct nat_proof *ret_proof)
{
    struct nat_proof sum = { .address = *address, .as_planned = true };
    size_t first = first_of(proofs, address), at = first;
    for (; at < proofs->of_services.count; at++) {
        const struct service_proof *proof = sorted_at(&proofs->of_services, at);
        if (!ip_equal(&proof->address, address))
            break;
        sum.as_planned &= proof->as_planned;
        sum.served |= proof->forwards;
        if (proof->why && !*sum.why)
            (void)snprintf(sum.why, sizeof(sum.why), "%s", proof->why);
    }
    sum.served &= sum.as_planned;
    if (sum.served)
        sum.why[0] = '\0';
    *ret_proof = sum;
    return at > first;
}
