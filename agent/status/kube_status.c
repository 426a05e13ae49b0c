// SPDX-License-Identifier: Apache-2.0
/* The words for what a kind's list and watch are at; see kube_status.h. */
#include "status/kube_status.h"

#include <string.h>

const char *kube_kind_state_name(enum kube_kind_state state)
{
    switch (state) {
    case KUBE_LISTING:
        return "listing";
    case KUBE_WATCHING:
        return "watching";
    case KUBE_WAITING:
        return "waiting";
    case KUBE_ABSENT:
        return "absent";
    }
    return "waiting";
}

bool kube_status_is_absent(const struct kube_status *status, const char *kind)
{
    for (size_t i = 0; i < status->count; i++) {
        if (strcmp(status->kinds[i].kind, kind) == 0)
            return status->kinds[i].state == KUBE_ABSENT;
    }
    return false;
}
