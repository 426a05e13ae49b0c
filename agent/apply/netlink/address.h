/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface addresses: decodes them, and makes the requests that add, replace and delete one.
 *
 * The kernel deletes an address when its valid lifetime ends, even if the process that added it is
 * gone; that is the purpose of lifetimes.
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
    struct ip peer; /* address of the remote end, to which the length then applies; IP_NONE or `ip`:
                       none */
    uint8_t length; /* of the network */
    uint8_t scope;  /* RT_SCOPE_*: 0 is global */
    /*
     * IFA_PROTO: the program that added it. Kernels before 5.18 ignore it in requests, and report
     * 0: there an address is identified by its value alone.
     */
    uint8_t protocol;
    uint32_t flags;                /* IFA_F_* */
    uint32_t valid_s, preferred_s; /* remaining lifetimes; NL_FOREVER */
};

typedef VEC(struct nl_address) nl_address_list;

/* False for a message that is malformed or of another family than IPv4 and IPv6. */
bool nl_address_decode(const struct nlmsghdr *message, struct nl_address *ret_address);

/*
 * nl_address_add() adds an address: -EEXIST if it exists. nl_address_replace() replaces or adds
 * one: flags, lifetimes and protocol are set to these; only the length must be equal, otherwise it
 * is another address. Both return 0, -ENODEV, -EINVAL if a lifetime is 0 or the preferred one is
 * longer than the valid one, or -errno. `result` (may be NULL) has the kernel's error text.
 */
int nl_address_add(struct nl_socket *socket, const struct nl_address *address,
                   struct nl_result *result);
int nl_address_replace(struct nl_socket *socket, const struct nl_address *address,
                       struct nl_result *result);

/* Deletes the address with this interface, value and length. Returns 0, -EADDRNOTAVAIL, or
 * -errno. */
int nl_address_delete(struct nl_socket *socket, const struct nl_address *address,
                      struct nl_result *result);

/*
 * Reads the addresses of an interface (0: of all) in the kernel's order, IPv4 first. The caller
 * frees the list by vec_done(). Returns 0, -ENODEV, or -errno with the list unchanged.
 */
int nl_address_dump(struct nl_socket *socket, uint32_t ifindex, nl_address_list *ret_addresses);

/*
 * The same in another network namespace, identified by the number that the socket's namespace has
 * for it (struct nl_link). No process enters that namespace. It takes CAP_NET_ADMIN in the user
 * namespace that owns it; the capability in an outer user namespace includes that. -EINVAL if no
 * namespace has this number, -EACCES without the capability, -E2BIG if there are more than `limit`
 * (0: any number).
 */
int nl_address_dump_of(struct nl_socket *socket, int32_t nsid, uint32_t ifindex, size_t limit,
                       nl_address_list *ret_addresses);
enum { NL_OWN_NSID = -1 };
