/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Behind which port of a bridge a pod's address is. A route leads only to the bridge; the port is
 * determined in the pods' network namespaces.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/net/ip.h"
#include "base/sorted.h"

/* An address that was found behind a port. */
struct port_address {
    struct ip address;
    uint32_t port; /* its ifindex */
};
int port_address_cmp(const void *a, const void *b); /* address, port */

/*
 * The number of ports behind which an address was found. `found`: struct port_address by
 * port_address_cmp().
 */
size_t plan_home_count(const struct sorted *found, const struct ip *address);

/*
 * The port of an address; 0: none was ever found, or several from the start. `before`: its previous
 * port, which is kept until the address is found behind exactly one other port: also if other pods
 * use the address as well, or if it is found nowhere.
 */
uint32_t plan_home(const struct sorted *found, const struct ip *address, uint32_t before);
