/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Openings of Services as plain values: the planned ones (openings.h), and those in an nftables
 * set. Nothing here touches the kernel.
 */
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

/*
 * The difference of the existing and the wanted openings, both sorted: those to add, and those to
 * remove. Returns 0 or -ENOMEM.
 */
int openings_diff(const opening_list *there, const opening_list *wanted, opening_list *ret_come,
                  opening_list *ret_go);

/* The addresses of the list, each once, in order. Returns 0 or -ENOMEM. */
int openings_addresses(const opening_list *list, ip_list *ret_addresses);
