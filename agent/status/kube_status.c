// SPDX-License-Identifier: Apache-2.0
/* The words for what a kind's list and watch are at; see kube_status.h. */
#include "status/kube_status.h"

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
