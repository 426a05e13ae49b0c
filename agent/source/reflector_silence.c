// SPDX-License-Identifier: Apache-2.0
/*
 * Watches without events; called by reflector.c.
 *
 * A proxy that buffers answers until they are complete lets each watch begin, but passes on no
 * events: the API answers, its watches are established, and all changes are missed. Bookmarks are
 * sent about once a minute, but an API server without a cache of a kind sends none. So a kind whose
 * watches stay silent while the API's version advances is listed after 2, 4, 8 of them. If the list
 * shows a change, that is a fault, and from then on the kind is listed after each watch.
 */
#include <stdio.h>

#include "base/clock.h"
#include "source/kube_version.h"
#include "source/reflector.h"

void silence_tell(struct reflector *reflector)
{
    struct kube_kind_status *status = reflector->status;
    (void)snprintf(status->error, sizeof(status->error),
                   "its watches say nothing of what has changed; it is listed now and then");
    status->error_wall_ms = clock_wall_ms();
    reflector->remedy = "see what stands before the API and keeps its answers back: a proxy must "
                        "pass them on as they come (nginx: proxy_buffering off)";
}

static bool is_list_due(struct reflector *reflector)
{
    const unsigned count = ++reflector->silences;
    return reflector->deaf || (count > 1 && (count & (count - 1)) == 0);
}

void silence_checked(struct reflector *reflector)
{
    const bool goes_on = kube_version_is_older(reflector->version, reflector->list_version);
    if (reflector->silent && goes_on && is_list_due(reflector))
        reflector->relist = reflector->looking = true;
    reflector->silent = false;
    reflector->changes = reflector->objects.changes;
}

void silence_listed(struct reflector *reflector)
{
    if (reflector->looking && reflector->objects.changes != reflector->changes) {
        reflector->deaf = true;
        silence_tell(reflector);
    }
    reflector->looking = false;
}

bool silence_ends(struct reflector *reflector)
{
    const bool told = reflector->deaf;
    if (reflector->elements == 0)
        return false;
    reflector->silences = 0;
    reflector->deaf = false;
    return told;
}
