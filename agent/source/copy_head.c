// SPDX-License-Identifier: Apache-2.0
/*
 * The age of a copy; see copy_head.h. For a kind that can't be watched, the copy is as old as the
 * failure, however recently it was written.
 */
#include "source/copy_head.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* KIND_COUNT: none of ours. */
static enum kind kind_named(const char *name)
{
    enum kind kind = 0;
    while (kind < KIND_COUNT && strcmp(kind_name(kind), name) != 0)
        kind++;
    return kind;
}

void copy_head_fill(struct copy_head *head, const struct kube_status *kube)
{
    *head = (struct copy_head){ 0 };
    head->written_wall_ms = clock_wall_ms();
    for (size_t i = 0; i < kube->count; i++) {
        const struct kube_kind_status *status = &kube->kinds[i];
        enum kind kind = kind_named(status->kind);
        if (kind == KIND_COUNT || status->state == KUBE_ABSENT)
            continue;
        (void)snprintf(head->kinds[kind].resource_version, COPY_RESOURCE_VERSION_MAX, "%s",
                       status->resource_version);
        head->kinds[kind].synced_wall_ms =
            status->error[0] ? status->error_wall_ms : head->written_wall_ms;
    }
}

int64_t copy_head_as_of(const struct copy_head *head)
{
    int64_t oldest_ms = head->written_wall_ms;
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        int64_t synced_ms = head->kinds[kind].synced_wall_ms;
        if (synced_ms && synced_ms < oldest_ms)
            oldest_ms = synced_ms;
    }
    return oldest_ms;
}

bool copy_head_is_now(const struct kube_status *kube)
{
    for (size_t i = 0; i < kube->count; i++) {
        if (kube->kinds[i].error[0])
            return false;
    }
    return true;
}
