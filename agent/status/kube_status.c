// SPDX-License-Identifier: Apache-2.0
/* The words for the states of a kind's list and watch; see kube_status.h. */
#include "status/kube_status.h"

#include <string.h>

#include "base/clock.h"

enum { WENT_BACK_MS = MINUTE_MS };

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

static const struct kube_kind_status *status_of(const struct kube_status *status, const char *kind)
{
    for (size_t i = 0; i < status->count; i++) {
        if (strcmp(status->kinds[i].kind, kind) == 0)
            return &status->kinds[i];
    }
    return NULL;
}

bool kube_status_is_absent(const struct kube_status *status, const char *kind)
{
    const struct kube_kind_status *own = status_of(status, kind);
    return own && own->state == KUBE_ABSENT;
}

bool kube_status_went_back(const struct kube_status *status, const char *kind, int64_t now_ms)
{
    const struct kube_kind_status *own = status_of(status, kind);
    return own && own->back_mono_ms && now_ms - own->back_mono_ms < WENT_BACK_MS;
}
