// SPDX-License-Identifier: Apache-2.0
/* Words and values of kube-service-exporter's metrics; see export_status.h. */
#include "status/export_status.h"

#include "base/macro.h"

const char *const handled_names[HANDLED_KINDS] = { "add", "update", "delete" };

const char *const export_deed_names[EXPORT_DEEDS] = { "create", "update", "delete" };
const char *const export_method_names[EXPORT_METHODS] = { "get", "put", "delete" };
const char *const export_kv_names[EXPORT_KVS] = { "metadata", "nodes", "leader" };

void export_waiting_add(struct export_waiting *waiting, enum handled handled, int64_t now_ms)
{
    waiting->adds++;
    waiting->length++;
    if (!waiting->since_ms[handled])
        waiting->since_ms[handled] = now_ms;
}

int64_t export_waiting_since(const struct export_waiting *waiting)
{
    int64_t first_ms = 0;
    for (int i = 0; i < HANDLED_KINDS; i++) {
        int64_t since_ms = waiting->since_ms[i];
        if (since_ms && (!first_ms || since_ms < first_ms))
            first_ms = since_ms;
    }
    return first_ms;
}

void export_waiting_begin(struct export_waiting *waiting, int64_t now_ms)
{
    for (int i = 0; i < HANDLED_KINDS; i++)
        waiting->since_ms[i] = waiting->since_ms[i] ? now_ms : 0;
}

void export_waiting_end(struct export_waiting *waiting, int64_t began_ms, int64_t now_ms)
{
    if (waiting->length == 0)
        return;
    waiting->plans++;
    waiting->wait_ms += (uint64_t)MAX(began_ms - export_waiting_since(waiting), INT64_C(0));
    waiting->plan_ms += (uint64_t)(now_ms - began_ms);
    waiting->done += waiting->length;
    waiting->length = 0;
    for (int i = 0; i < HANDLED_KINDS; i++)
        waiting->since_ms[i] = 0;
}
