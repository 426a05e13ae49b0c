// SPDX-License-Identifier: Apache-2.0
/*
 * This node's addresses, and the endpoints that have one of them.
 *
 * An endpoint on the node itself (a pod in the host's network) is delivered locally and not
 * forwarded; a bit of the endpoint's state tells the program. bank.c sets the bit when it writes an
 * endpoint. When the addresses change, this file updates the bit of every installed endpoint.
 */
#include "apply/nat/maps/local.h"

#include <string.h>

#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/arrays.h"

bool nat_is_local(const struct nat_datapath *datapath, const struct ip *ip)
{
    return vec_find(&datapath->local, ip, ip_item_cmp);
}

void nat_local_mark(struct nat_datapath *datapath, uint32_t id)
{
    struct ip ip = nat_addr_ip(&datapath->endpoints[id].addr);
    uint64_t state = datapath->endpoints[id].state, wanted = state & ~NAT_ENDPOINT_ON_NODE;
    if (nat_is_local(datapath, &ip))
        wanted |= NAT_ENDPOINT_ON_NODE;
    if (wanted != state)
        nat_word_set(&datapath->endpoints[id].state, wanted);
}

int nat_datapath_set_local(struct nat_datapath *datapath, const struct ip *addresses, size_t count)
{
    if (count == datapath->local.count &&
        (count == 0 || memcmp(addresses, datapath->local.items, count * sizeof(*addresses)) == 0))
        return 0;
    int r = vec_reserve(&datapath->local, count);
    if (r < 0)
        return r;
    vec_clear(&datapath->local);
    for (size_t i = 0; i < count; i++)
        datapath->local.items[datapath->local.count++] = addresses[i];
    sorted_each(struct nat_installed *, installed, &datapath->installed) {
        vec_each(const uint32_t, id, &(*installed)->endpoints)
            nat_local_mark(datapath, *id);
    }
    return 0;
}
