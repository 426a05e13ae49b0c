/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface addresses: the kernel's word about one, and the requests that add, replace and delete
 * one.
 *
 * The kernel takes an address away by itself when its valid lifetime is over, whatever has become
 * of who set it; that is the point of lifetimes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/netlink/nl.h"
#include "base/vec.h"

/* A lifetime that does not end. */
#define NL_FOREVER UINT32_MAX

struct nl_address {
    uint32_t ifindex;
    struct ip ip;
    struct ip peer; /* the other end's, which the length is of then; IP_NONE or `ip`: none */
    uint8_t length; /* of the network */
    uint8_t scope;  /* RT_SCOPE_*: 0 is global */
    /*
     * IFA_PROTO: who made it. Kernels before 5.18 pass it over in requests, and say 0: an address
     * is known there by its value alone.
     */
    uint8_t protocol;
    uint32_t flags;                /* IFA_F_* */
    uint32_t valid_s, preferred_s; /* what is left of it; NL_FOREVER */
};

typedef VEC(struct nl_address) nl_address_list;

/* False for a message that is malformed or of another family than IPv4 and IPv6. */
bool nl_address_decode(const struct nlmsghdr *message, struct nl_address *ret_address);

/*
 * Adds one: -EEXIST if it is there. Replaces one, or adds it: flags, lifetimes and protocol become
 * these; only the length must be as it was, or else it is another address. Both return 0, -ENODEV,
 * -EINVAL if a lifetime is 0 or preferred for longer than valid, or -errno. `result` (may be NULL)
 * has the kernel's own words.
 */
int nl_address_add(struct nl_socket *socket, const struct nl_address *address,
                   struct nl_result *result);
int nl_address_replace(struct nl_socket *socket, const struct nl_address *address,
                       struct nl_result *result);

/* Deletes the one of this interface, address and length. Returns 0, -EADDRNOTAVAIL, or -errno. */
int nl_address_delete(struct nl_socket *socket, const struct nl_address *address,
                      struct nl_result *result);

/*
 * Reads the addresses of an interface (0: of all) in the kernel's order, IPv4 first. The caller
 * ends the list by vec_done(). Returns 0, -ENODEV, or -errno with the list untouched.
 */
int nl_address_dump(struct nl_socket *socket, uint32_t ifindex, nl_address_list *ret_addresses);

/*
 * The same in another network namespace, by the number that the socket's one has for it (struct
 * nl_link). Nobody enters it: CAP_NET_ADMIN in the user namespace that owns it is enough, which who
 * has it in an outer one has as well. -EINVAL if there is none of this number, -EACCES without the
 * capability, -E2BIG if there are more than `limit` (0: any number).
 */
int nl_address_dump_of(struct nl_socket *socket, int32_t nsid, uint32_t ifindex, size_t limit,
                       nl_address_list *ret_addresses);
enum { NL_OWN_NSID = -1 };
