// SPDX-License-Identifier: Apache-2.0
/* Lookups of one address in the inputs; see route_inputs.h. */
#include "plan/routes/route_inputs.h"

#include <string.h>

int proof_cmp(const void *a, const void *b)
{
    return ip_cmp(&((const struct proof *)a)->address, &((const struct proof *)b)->address);
}

int service_proof_cmp(const void *a, const void *b)
{
    const struct service_proof *left = a, *right = b;
    int r = ip_cmp(&left->address, &right->address);
    return r ? r : strcmp(left->service, right->service);
}

bool route_inputs_proved(const struct route_inputs *inputs, const struct ip *address)
{
    if (!inputs->proofs)
        return true;
    const struct proof *proof = sorted_find(inputs->proofs, &(struct proof){ .address = *address });
    return proof && proof->proved;
}

const struct hold *route_inputs_held(const struct route_inputs *inputs, const struct ip *address)
{
    if (!inputs->holds)
        return NULL;
    const struct hold *hold = sorted_find(inputs->holds, &(struct hold){ .address = *address });
    return hold && hold->announced_ms == 0 && hold->until_ms > inputs->now_ms ? hold : NULL;
}
