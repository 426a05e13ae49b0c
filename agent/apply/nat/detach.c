// SPDX-License-Identifier: Apache-2.0
/*
 * Everything of ours off all interfaces, by both methods, without programs: `agentctl cleanup`.
 * Apart from hooks.c, so that it needs nothing of the plane.
 */
#include <errno.h>
#include <unistd.h>

#include "apply/nat/clsact.h"
#include "apply/nat/hooks.h"
#include "apply/nat/pins.h"
#include "apply/nat/tcx.h"
#include "base/text.h"

/* Returns the number of living links that were taken away, or -errno. */
static int remove_links(const char *folder)
{
    nat_place_list places = { 0 };
    int removed = 0, r = nat_pins_list(folder, &places);
    vec_each(const struct nat_place, place, &places) {
        AUTOCLOSE int link = nat_pin_open(folder, place);
        removed += link >= 0 && tcx_program(link, place) && tcx_detach(link) == 0;
        nat_pin_remove(folder, place);
    }
    vec_done(&places);
    (void)rmdir(folder);
    return r < 0 ? r : removed;
}

static int remove_filters(void)
{
    CLEANUP(nl_closep) struct nl_socket *socket = NULL;
    nat_place_list places = { 0 };
    int removed = 0, r = nl_open(&socket);
    if (r == 0)
        r = clsact_find(socket, &places);
    vec_each(const struct nat_place, place, &places) {
        if (r == 0)
            r = clsact_detach(socket, place);
        removed += r == 0;
    }
    vec_done(&places);
    return r < 0 ? r : removed;
}

int nat_hooks_remove_all(const char *pins)
{
    AUTOFREE char *folder = text_format("%s/links", pins);
    if (!folder)
        return -ENOMEM;
    int links = remove_links(folder);
    int filters = remove_filters();
    if (links < 0)
        return links;
    return filters < 0 ? filters : links + filters;
}
