// SPDX-License-Identifier: Apache-2.0
/* The map of ports of bridges; see ports.h. */
#include "apply/egress/client/ports.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "apply/egress/datapath_inside.h"
#include "apply/nat/maps/walk.h"

int egress_ports_adopt(struct egress_datapath *datapath)
{
    AUTOWALK struct nat_walk walk;
    nat_walk_start(&walk, datapath->fds[EGRESS_MAP_BRIDGES], sizeof(uint32_t), sizeof(uint32_t));
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            const struct egress_port port = { *(const uint32_t *)nat_walk_key(&walk, i),
                                              *(const uint32_t *)nat_walk_value(&walk, i) };
            r = sorted_put(&datapath->bridges, &port);
            if (r < 0)
                return r;
        }
    }
    return r;
}

/* Returns 1 if the map was written, 0 if it was correct, or -errno. */
static int put_port(struct egress_datapath *datapath, const struct egress_port *port)
{
    const struct egress_port *known = sorted_find(&datapath->bridges, port);
    if (known && known->bridge == port->bridge)
        return 0;
    if (bpf_map_update_elem(datapath->fds[EGRESS_MAP_BRIDGES], &port->ifindex, &port->bridge,
                            BPF_ANY) < 0)
        return -errno;
    int r = sorted_put(&datapath->bridges, port);
    return r < 0 ? r : 1;
}

int egress_datapath_set_ports(struct egress_datapath *datapath, const struct sorted *ports)
{
    int written = 0;
    sorted_each(const struct egress_port, port, ports) {
        int r = put_port(datapath, port);
        if (r < 0)
            return r;
        written += r;
    }
    for (size_t i = datapath->bridges.count; i-- > 0;) {
        const struct egress_port gone =
            *(const struct egress_port *)sorted_at(&datapath->bridges, i);
        if (sorted_find(ports, &gone))
            continue;
        if (bpf_map_delete_elem(datapath->fds[EGRESS_MAP_BRIDGES], &gone.ifindex) < 0 &&
            errno != ENOENT)
            return -errno;
        sorted_remove(&datapath->bridges, &gone);
        written++;
    }
    return written;
}
