/* SPDX-License-Identifier: Apache-2.0 */
/* What Services have opened as plain values: what is planned (openings.h), and what a set of
 * nftables holds. Nothing here touches the kernel. */
#pragma once

#include <stdint.h>

#include "base/net/ip.h"
#include "base/vec.h"

struct opening {
    struct ip ip;
    uint8_t protocol; /* enum protocol */
    uint16_t port;
};

int opening_cmp(const void *a, const void *b); /* ip, protocol, port */

typedef VEC(struct opening) opening_list;

/* From what is there to what is wanted, both sorted: what comes, and what goes. 0 or -ENOMEM. */
int openings_diff(const opening_list *there, const opening_list *wanted, opening_list *ret_come,
                  opening_list *ret_go);

/* The addresses of the list, each once, in order. Returns 0 or -ENOMEM. */
int openings_addresses(const opening_list *list, ip_list *ret_addresses);
