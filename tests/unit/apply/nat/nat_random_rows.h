/* SPDX-License-Identifier: Apache-2.0 */
/* Random rows of a small world, so that addresses, ports and endpoints meet again and again. */
#pragma once

#include <stdio.h>

#include "nat_rows.h"

enum { WORLD_NAMES = 10, WORLD_SHARED = 6, WORLD_ENDPOINTS = 12 };

struct world {
    unsigned seed;
    struct nat_row *rows[WORLD_NAMES]; /* as they shall be; NULL: not there */
    struct nat_row *before;            /* what the last step has replaced */
    int owners[WORLD_SHARED];          /* who has a shared address: name + 1 */
};

static inline unsigned draw(struct world *world, unsigned below)
{
    return (unsigned)rand_r(&world->seed) % below;
}

/* Some ports lead where the port before them leads. */
static inline void copy_endpoints(struct nat_family *family, uint32_t port)
{
    const struct nat_port *from = &family->ports.items[port - 1];
    struct nat_port *to = &family->ports.items[port];
    for (int set = 0; set < NAT_SETS; set++)
        assert_int_equal(vec_append(&to->sets[set], &from->sets[set]), 0);
    assert_int_equal(vec_append(&to->serving, &from->serving), 0);
}

static inline void draw_endpoints(struct world *world, struct nat_family *family, uint32_t port,
                                  int name)
{
    if (port > 0 && draw(world, 3) == 0) {
        copy_endpoints(family, port);
        return;
    }
    const uint16_t number = (uint16_t)(8000 + draw(world, port + 1));
    for (unsigned i = 0; i < WORLD_ENDPOINTS; i++) {
        char address[32];
        if (draw(world, 3) == 0)
            continue;
        (void)snprintf(address, sizeof(address),
                       family->family == IP_V4 ? "10.0.%d.%u" : "fd00:%d::%u", name % 3, i + 1);
        row_endpoint(family, port, address, number, draw(world, 4));
    }
}

/* Shared addresses go from hand to hand. */
static inline void draw_shared(struct world *world, struct nat_family *family, uint32_t port,
                               int name)
{
    unsigned i = draw(world, WORLD_SHARED);
    char address[32];
    if (world->owners[i] && world->owners[i] != name + 1)
        return;
    world->owners[i] = name + 1;
    (void)snprintf(address, sizeof(address),
                   family->family == IP_V4 ? "192.0.2.%u" : "2001:db8::%u", i + 1);
    row_frontend(family, port,
                 draw(world, 2) ? NAT_FRONTEND_LOAD_BALANCER : NAT_FRONTEND_EXTERNAL_IP, address,
                 family->ports.items[port].port);
}

static inline void draw_family(struct world *world, struct nat_family *family, int name)
{
    bool four = family->family == IP_V4;
    unsigned count = 1 + draw(world, 3);
    for (uint32_t port = 0; port < count; port++) {
        char address[32];
        (void)snprintf(address, sizeof(address), four ? "10.96.0.%d" : "fd96::%d", name + 1);
        (void)row_port(family, draw(world, 3) ? PROTOCOL_TCP : PROTOCOL_UDP, (uint16_t)(80 + port));
        draw_endpoints(world, family, port, name);
        if (draw(world, 8))
            row_frontend(family, port, NAT_FRONTEND_CLUSTER_IP, address, (uint16_t)(80 + port));
        if (draw(world, 2))
            row_frontend(family, port, NAT_FRONTEND_NODE_PORT,
                         four ? "192.0.2.100" : "2001:db8::100",
                         (uint16_t)(30000 + name * 10 + (int)port));
        draw_shared(world, family, port, name);
    }
    static const char *const ranges[2][3] = { { "10.0.0.0/8", "10.1.0.0/16", "0.0.0.0/0" },
                                              { "2001:db8::/32", "2001:db8::/64", "::/0" } };
    for (unsigned i = 0; i < 3 && draw(world, 2); i++)
        row_range(family, ranges[!four][i]);
}

static inline void world_drop(struct world *world, int name)
{
    for (int i = 0; i < WORLD_SHARED; i++) {
        if (world->owners[i] == name + 1)
            world->owners[i] = 0;
    }
    nat_row_free(world->before);
    world->before = TAKE_PTR(world->rows[name]);
}

/* Shared addresses are those of the rows that the datapath holds. */
static inline void world_own(struct world *world, struct nat_row *const *written)
{
    memset(world->owners, 0, sizeof(world->owners));
    for (int name = 0; name < WORLD_NAMES; name++) {
        for (uint32_t i = 0; written[name] && i < written[name]->family_count; i++) {
            vec_each(const struct nat_frontend, it, &written[name]->families[i].frontends) {
                if (it->kind == NAT_FRONTEND_LOAD_BALANCER || it->kind == NAT_FRONTEND_EXTERNAL_IP)
                    world->owners[it->address.bytes[ip_size(&it->address) - 1] - 1] = name + 1;
            }
        }
    }
}

/* Another row for a name, or none. Returns the name. */
static inline int world_step(struct world *world)
{
    int name = (int)draw(world, WORLD_NAMES);
    char text[24];
    world_drop(world, name);
    (void)snprintf(text, sizeof(text), "s%d", name);
    unsigned kind = draw(world, 8);
    if (kind == 0)
        return name;
    struct nat_row *row = world->rows[name] = row_new(text);
    if (kind == 1) {
        (void)snprintf(text, sizeof(text), "10.96.0.%d", name + 1);
        assert_int_equal(vec_push(&row->foreign, ip(text)), 0);
        return name;
    }
    row->affinity_seconds = draw(world, 3) ? 0 : 10800;
    if (kind != 2)
        draw_family(world, row_family(row, IP_V4), name);
    if (kind < 5)
        draw_family(world, row_family(row, IP_V6), name);
    return name;
}

static inline void world_done(struct world *world)
{
    for (int name = 0; name < WORLD_NAMES; name++)
        world_drop(world, name);
    nat_row_free(world->before);
}
#define AUTOWORLD CLEANUP(world_done)
