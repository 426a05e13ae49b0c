// SPDX-License-Identifier: Apache-2.0
/*
 * Installs the addresses of claims in the kernel; called by claims.c.
 *
 * The kernel's addresses are read before each change. So an address of ours that another program
 * deleted is added again, one that another program replaced (ip address replace) gets its limited
 * lifetime back, and one that a suspended machine would keep for too long is found.
 */
#include <errno.h>
#include <string.h>

#include "apply/segment/kept.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "segment/claims_inside.h"

int64_t claims_kept_until(const struct claims *claims, const struct claim_address *address)
{
    const struct kept_address key = { .ifindex = address->ifindex, .ip = address->ip };
    const struct kept_address *kept = sorted_find(&claims->kept, &key);
    return kept ? kept->until_ms : 0;
}

static int read_kept(struct claims *claims, int64_t now_ms)
{
    AUTOSORTED struct sorted kept = SORTED(struct kept_address, kept_address_cmp);
    int r = kept_read(claims->netlink, now_ms, &kept);
    if (r < 0)
        return r;
    sorted_move(&claims->kept, &kept);
    return 0;
}

int claims_inherit(struct claims *claims, int64_t now_ms)
{
    return read_kept(claims, now_ms);
}

static int find_wanted(const struct claims *claims, struct sorted *wanted)
{
    vec_each(struct own_claim *const, claim, &claims->list) {
        if (!(*claim)->has_right)
            continue;
        vec_each(const struct claim_address, address, &(*claim)->addresses) {
            const struct kept_address one = {
                .ifindex = address->ifindex,
                .ip = address->ip,
                .until_ms = lease_until_ms(&(*claim)->lease),
            };
            bool is_wanted = address->ifindex && announcing_may_install(&address->announcing);
            int r = is_wanted ? sorted_put(wanted, &one) : 0;
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static bool is_same(const struct sorted *a, const struct sorted *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct kept_address *left = sorted_at(a, i), *right = sorted_at(b, i);
        if (kept_address_cmp(left, right) != 0 || left->until_ms != right->until_ms)
            return false;
    }
    return true;
}

static struct claim_address *find_address(const struct claims *claims,
                                          const struct kept_address *kept)
{
    vec_each(struct own_claim *const, claim, &claims->list) {
        vec_each(struct claim_address, address, &(*claim)->addresses) {
            if (address->ifindex == kept->ifindex && ip_equal(&address->ip, &kept->ip))
                return address;
        }
    }
    return NULL;
}

static void note_result(const struct claims *claims, const struct kept_op *op,
                        const struct op_result *result)
{
    struct claim_address *address = find_address(claims, &op->address);
    char text[IP_STRLEN];
    if (result->error < 0)
        log_error("%s: the kernel refuses the address: %s %s", ip_str(&op->address.ip, text),
                  strerror(-result->error), result->text);
    if (address && op->kind != KEPT_REMOVE)
        address->error = result->error;
}

static int apply(struct claims *claims, const kept_op_list *ops)
{
    AUTOVEC VEC(struct op_result) results = { 0 };
    int r = vec_reserve(&results, ops->count);
    if (r < 0)
        return r;
    r = kept_apply(claims->netlink, ops->items, ops->count, results.items);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ops->count; i++)
        note_result(claims, &ops->items[i], &results.items[i]);
    return 0;
}

static void follow_address(struct claims *claims, struct claim_address *address, int64_t now_ms)
{
    bool installed = claims_kept_until(claims, address) != 0;
    claims->options.counts->gained += installed && !address->installed;
    claims->options.counts->lost += !installed && address->installed;
    if (!installed && address->installed)
        telling_end(&claims->telling, address->ifindex, &address->ip);
    if (installed && !address->installed) {
        announcing_installed(&address->announcing, now_ms);
        announcing_again(&address->announcing, now_ms);
    }
    address->installed = installed;
}

static void follow_kept(struct claims *claims, int64_t now_ms)
{
    claims->options.counts->held = 0;
    vec_each(struct own_claim *const, claim, &claims->list) {
        bool any = false;
        vec_each(struct claim_address, address, &(*claim)->addresses) {
            follow_address(claims, address, now_ms);
            claims->options.counts->held += address->installed;
            any |= address->installed;
        }
        lease_installed(&(*claim)->lease, any);
    }
}

/*
 * An address that was ours at the last read is written even if another program changed it since:
 * only then does its lifetime end.
 */
static void take_back(const struct sorted *before, kept_op_list *ops)
{
    vec_each(struct kept_op, op, ops) {
        if (op->kind == KEPT_ADD && sorted_find(before, &op->address))
            op->kind = KEPT_RENEW;
    }
}

static int change(struct claims *claims, const struct sorted *wanted, int64_t now_ms)
{
    AUTOVEC kept_op_list ops = { 0 };
    AUTOSORTED struct sorted there = SORTED(struct kept_address, kept_address_cmp);
    int r = kept_read(claims->netlink, now_ms, &there);
    if (r < 0)
        return r;
    r = kept_diff(&there, wanted, now_ms, &ops);
    if (r < 0)
        return r;
    take_back(&claims->kept, &ops);
    sorted_move(&claims->kept, &there);
    if (ops.count == 0)
        return 0;
    r = apply(claims, &ops);
    return r < 0 ? r : read_kept(claims, now_ms);
}

void claims_keep(struct claims *claims, int64_t now_ms)
{
    AUTOSORTED struct sorted wanted = SORTED(struct kept_address, kept_address_cmp);
    int r = find_wanted(claims, &wanted);
    if (r == 0 && !claims->look && is_same(&wanted, &claims->applied))
        return;
    r = r < 0 ? r : change(claims, &wanted, now_ms);
    if (r < 0) {
        /* The lifetime of installed addresses ends by itself. */
        log_error("cannot keep claimed addresses: %s", strerror(-r));
        claims->look = true;
        return;
    }
    follow_kept(claims, now_ms);
    sorted_move(&claims->applied, &wanted);
    claims->look = false;
    claims->looked_ms = now_ms;
}
