// SPDX-License-Identifier: Apache-2.0
/*
 * The other eligible nodes of each claim, with the times since which they are eligible. Called by
 * claims.c.
 *
 * A plan has lists without times, which many claims share. A claim gets a list with times, merged
 * from the plan's list and its previous one; each pair is merged once in a pass, and equal lists
 * are shared between claims. The nodes of a new claim have no time: they count as eligible for as
 * long as the claim is known, and fail-back counts from when the claim was taken in any case.
 */
#include <errno.h>

#include "segment/claims_inside.h"

static int add_times(const struct contenders *had, const struct contenders *planned, int64_t now_ms,
                     struct contenders *merged)
{
    vec_each(const struct placement_node, node, &planned->nodes) {
        const struct placement_node *known = had ? contenders_find(had, node->name) : NULL;
        bool same = known && known->lacks == node->lacks;
        int64_t since_ms = same ? known->since_ms : had ? now_ms : 0;
        int r = contenders_add(merged, node->name, since_ms);
        if (r < 0)
            return r;
        if (node->lacks)
            contenders_lacks(merged);
    }
    return 0;
}

/* Returns the equal list that other claims already have, or else this one. NULL: no memory. */
static struct contenders *shared(struct claims *claims, struct contenders *fresh)
{
    vec_each(struct contenders *const, known, &claims->node_lists) {
        if (contenders_equal(*known, fresh)) {
            contenders_drop(fresh);
            return contenders_share(*known);
        }
    }
    if (vec_push(&claims->node_lists, fresh) < 0) {
        contenders_drop(fresh);
        return NULL;
    }
    return contenders_share(fresh);
}

static struct contenders *merge(struct claims *claims, struct contenders *had,
                                struct contenders *planned, int64_t now_ms)
{
    if (had && contenders_same_nodes(had, planned))
        return contenders_share(had);
    CLEANUP(contenders_dropp) struct contenders *merged = contenders_new();
    if (!merged || add_times(had, planned, now_ms, merged) < 0)
        return NULL;
    return shared(claims, TAKE_PTR(merged));
}

/*
 * The list that was merged from the same pair in this pass, or else a new one. Owned by the pass.
 */
static struct contenders *merged_of(struct claims *claims, struct contenders *had,
                                    struct contenders *planned, int64_t now_ms)
{
    vec_each(const struct node_merge, merge, &claims->node_merges) {
        if (merge->had == had && merge->planned == planned)
            return merge->merged;
    }
    if (vec_reserve(&claims->node_merges, 1) < 0)
        return NULL;
    struct contenders *merged = merge(claims, had, planned, now_ms);
    if (!merged)
        return NULL;
    claims->node_merges.items[claims->node_merges.count++] = (struct node_merge){
        had ? contenders_share(had) : NULL,
        contenders_share(planned),
        merged,
    };
    return merged;
}

int claim_nodes_take(struct own_claim *claim, struct contenders *planned, int64_t now_ms)
{
    struct contenders *merged = merged_of(claim->claims, claim->others, planned, now_ms);
    if (!merged)
        return -ENOMEM;
    struct contenders *had = claim->others;
    claim->others = contenders_share(merged);
    contenders_drop(had);
    return 0;
}

void claim_nodes_settle(struct claims *claims)
{
    vec_each(const struct node_merge, merge, &claims->node_merges) {
        contenders_drop(merge->had);
        contenders_drop(merge->planned);
        contenders_drop(merge->merged);
    }
    vec_clear(&claims->node_merges);
    size_t kept = 0;
    vec_each(struct contenders *const, list, &claims->node_lists) {
        if ((*list)->owners > 1)
            claims->node_lists.items[kept++] = *list;
        else
            contenders_drop(*list);
    }
    claims->node_lists.count = kept;
}

void claim_nodes_end(struct claims *claims)
{
    claim_nodes_settle(claims);
    vec_done(&claims->node_merges);
    vec_done(&claims->node_lists);
}
