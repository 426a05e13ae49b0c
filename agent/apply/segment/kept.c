// SPDX-License-Identifier: Apache-2.0
/*
 * See kept.h. The kernel identifies an address by interface, value and length; a renewal replaces
 * one that kept_read() has just found to be ours.
 */
#include "apply/segment/kept.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <string.h>

#include "apply/netlink/address.h"
#include "base/clock.h"
#include "base/macro.h"
#include "base/ours.h"

static bool is_ours(const struct nl_address *address)
{
    return address->protocol == ADDRESS_PROTOCOL_KEPT && address->length == ip_bits(&address->ip);
}

int kept_read(struct nl_socket *socket, int64_t now_ms, struct sorted *ret_kept)
{
    AUTOSORTED struct sorted kept = SORTED(struct kept_address, kept_address_cmp);
    AUTOVEC nl_address_list addresses = { 0 };
    int r = nl_address_dump(socket, 0, &addresses);
    if (r < 0)
        return r;
    vec_each(const struct nl_address, address, &addresses) {
        const struct kept_address one = {
            .ifindex = address->ifindex,
            .ip = address->ip,
            .until_ms = address->valid_s == NL_FOREVER
                            ? INT64_MAX
                            : now_ms + ((int64_t)address->valid_s - 1) * SECOND_MS,
        };
        r = is_ours(address) ? sorted_put(&kept, &one) : 0;
        if (r < 0)
            return r;
    }
    *ret_kept = TAKE_STRUCT(kept);
    return 0;
}

static struct nl_address address_of(const struct kept_op *op)
{
    return (struct nl_address){
        .ifindex = op->address.ifindex,
        .ip = op->address.ip,
        .length = ip_bits(&op->address.ip),
        .protocol = ADDRESS_PROTOCOL_KEPT,
        .flags = IFA_F_NOPREFIXROUTE | (op->address.ip.family == IP_V6 ? IFA_F_NODAD : 0),
        .valid_s = op->lifetime_s,
        .preferred_s = 0,
    };
}

static bool is_gone(int error)
{
    return error == -EADDRNOTAVAIL || error == -ENODEV;
}

/* The request's result. A failure of the socket leaves the result without an error. */
static int apply_one(struct nl_socket *socket, const struct kept_op *op, struct nl_result *result)
{
    const struct nl_address address = address_of(op);
    switch (op->kind) {
    case KEPT_ADD:
        return nl_address_add(socket, &address, result);
    case KEPT_RENEW:
        return nl_address_replace(socket, &address, result);
    case KEPT_REMOVE:
        break;
    }
    int r = nl_address_delete(socket, &address, result);
    if (is_gone(result->error)) {
        *result = (struct nl_result){ 0 };
        return 0;
    }
    return r;
}

int kept_apply(struct nl_socket *socket, const struct kept_op *ops, size_t count,
               struct op_result *results)
{
    for (size_t i = 0; i < count; i++) {
        struct nl_result result = { 0 };
        int r = apply_one(socket, &ops[i], &result);
        if (r < 0 && result.error == 0)
            return r;
        results[i] = (struct op_result){ .error = result.error };
        memcpy(results[i].text, result.text, MIN(sizeof(result.text), sizeof(results[i].text)));
    }
    return 0;
}
