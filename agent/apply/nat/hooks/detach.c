// SPDX-License-Identifier: Apache-2.0
/*
 * Detaches all our programs from all interfaces, by both methods, for `agentctl cleanup`. It is
 * separate from hooks.c because it does not need the datapath, and so works after a crash.
 */
#include <errno.h>
#include <unistd.h>

#include "apply/nat/hooks/clsact.h"
#include "apply/nat/hooks/hooks.h"
#include "apply/nat/hooks/pins.h"
#include "apply/nat/hooks/tcx.h"
#include "base/text.h"

/* Returns the number of live links that were removed, or -errno. */
static int remove_links(const char *pins, enum nat_layer layer)
{
    AUTOFREE char *folder = text_format("%s/%s", pins, nat_layer_folder(layer));
    if (!folder)
        return -ENOMEM;
    AUTOVEC nat_place_list places = { 0 };
    int removed = 0, r = nat_pins_list(folder, &places);
    if (r < 0)
        return r;
    vec_each(const struct nat_place, place, &places) {
        AUTOCLOSE int link = nat_pin_open(folder, place);
        removed += link >= 0 && tcx_program(link, place) && tcx_detach(link) == 0;
        nat_pin_remove(folder, place);
    }
    (void)rmdir(folder);
    return removed;
}

/* Returns the number of filters that were removed, or -errno. */
static int remove_filters(enum nat_layer layer)
{
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    AUTOVEC nat_place_list places = { 0 };
    int r = nl_open(&socket);
    if (r < 0)
        return r;
    r = clsact_find(socket, layer, &places);
    if (r < 0)
        return r;
    vec_each(const struct nat_place, place, &places) {
        r = clsact_detach(socket, place);
        if (r < 0)
            return r;
    }
    return (int)places.count;
}

int nat_hooks_remove(const char *pins, enum nat_layer layer)
{
    int links = remove_links(pins, layer);
    int filters = remove_filters(layer);
    if (links < 0)
        return links;
    return filters < 0 ? filters : links + filters;
}

int nat_hooks_remove_all(const char *pins)
{
    int removed = 0;
    for (enum nat_layer layer = 0; layer < NAT_LAYERS; layer++) {
        int r = nat_hooks_remove(pins, layer);
        if (r < 0)
            return r;
        removed += r;
    }
    return removed;
}
