// SPDX-License-Identifier: Apache-2.0
/* The layout of a gateway's source ports; see layout.h. */
#include "apply/egress/gateway/layout.h"

#include "apply/nat/maps/addr.h"
#include "base/macro.h"

struct egress_layout egress_layout_of(const struct egress_control *control)
{
    struct egress_layout layout = {
        .first_port = control->snat_first,
        .block_size = control->block_size,
        .address_blocks = control->address_blocks,
    };
    for (int family = 0; family < 2; family++) {
        layout.used[family] = MIN(control->sources[family], (uint32_t)EGRESS_SOURCES_MAX);
        for (int place = 0; place < EGRESS_SOURCES_MAX; place++)
            layout.sources[family][place] = nat_addr_ip(&control->snat[family][place]);
    }
    return layout;
}

static bool is_wanted(const struct ip wanted[static EGRESS_SOURCES_MAX], const struct ip *address)
{
    for (int i = 0; i < EGRESS_SOURCES_MAX && wanted[i].family != IP_NONE; i++) {
        if (ip_equal(&wanted[i], address))
            return true;
    }
    return false;
}

static void put(struct egress_layout *layout, int family, const struct ip *address)
{
    struct ip *places = layout->sources[family];
    if (egress_layout_find(layout, address) >= 0)
        return;
    for (int place = 0; place < EGRESS_SOURCES_MAX; place++) {
        if (places[place].family == IP_NONE) {
            places[place] = *address;
            return;
        }
    }
}

void egress_layout_place(struct egress_layout *layout, int family,
                         const struct ip wanted[static EGRESS_SOURCES_MAX])
{
    struct ip *places = layout->sources[family];
    layout->used[family] = 0;
    if (wanted[0].family == IP_NONE)
        return;
    for (int place = 0; place < EGRESS_SOURCES_MAX; place++) {
        if (!is_wanted(wanted, &places[place]))
            places[place] = (struct ip){ 0 };
    }
    for (int i = 0; i < EGRESS_SOURCES_MAX && wanted[i].family != IP_NONE; i++)
        put(layout, family, &wanted[i]);
    for (uint32_t place = 0; place < EGRESS_SOURCES_MAX; place++) {
        if (places[place].family != IP_NONE)
            layout->used[family] = place + 1;
    }
}

uint32_t egress_layout_blocks(const struct egress_layout *layout)
{
    uint32_t most = 0;
    for (int family = 0; family < 2; family++) {
        uint32_t count = 0;
        for (uint32_t place = 0; place < layout->used[family]; place++)
            count += layout->sources[family][place].family != IP_NONE;
        most = MAX(most, count);
    }
    return most * layout->address_blocks;
}

int egress_layout_find(const struct egress_layout *layout, const struct ip *address)
{
    const struct ip *places = layout->sources[address->family == IP_V6];
    for (int place = 0; place < EGRESS_SOURCES_MAX; place++) {
        if (ip_equal(&places[place], address))
            return place;
    }
    return -1;
}

struct ip egress_layout_address(const struct egress_layout *layout, int family, uint32_t number)
{
    uint32_t place = layout->address_blocks ? number / layout->address_blocks : EGRESS_SOURCES_MAX;
    return place < EGRESS_SOURCES_MAX ? layout->sources[family][place] : (struct ip){ 0 };
}

bool egress_layout_differs(const struct egress_layout *layout, const struct egress_layout *before,
                           int family, uint32_t number)
{
    const struct ip now = egress_layout_address(layout, family, number);
    const struct ip then = egress_layout_address(before, family, number);
    return layout->first_port != before->first_port || layout->block_size != before->block_size ||
           layout->address_blocks != before->address_blocks || !ip_equal(&now, &then);
}
