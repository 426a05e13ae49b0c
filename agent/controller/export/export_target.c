// SPDX-License-Identifier: Apache-2.0
/* What both targets of exports share; see export_target.h. */
#include "controller/export/export_target.h"

#include "base/clock.h"

static enum export_method method_of(const struct export_op *op)
{
    return op->remove ? EXPORT_DELETE : EXPORT_PUT;
}

static enum export_kv kv_of(const struct export_op *op)
{
    return op->nodes ? EXPORT_NODES : EXPORT_METADATA;
}

void export_target_tell(const struct export_target *target, struct export_target_status *status,
                        const struct export_op *op, bool done)
{
    if (op->marker)
        return;
    struct export_kv_count *count = &status->kv[method_of(op)][kv_of(op)];
    count->success += done;
    count->fail += !done;
    if (!op->nodes && target->told)
        target->told(target->context, op, done);
}

void export_target_read(struct export_target_status *status, int64_t since_ms)
{
    struct export_kv_count *count = &status->kv[EXPORT_GET][EXPORT_METADATA];
    status->reads++;
    status->read_wall_ms = clock_wall_ms();
    count->success++;
    count->requests++;
    count->request_ms += since_ms ? (uint64_t)(clock_mono_ms() - since_ms) : 0;
}

void export_target_time(struct export_target_status *status, const struct export_op *ops,
                        size_t count, uint64_t took_ms)
{
    bool told[EXPORT_METHODS][EXPORT_KVS] = { 0 };
    for (size_t i = 0; i < count; i++) {
        const enum export_method method = method_of(&ops[i]);
        const enum export_kv kv = kv_of(&ops[i]);
        if (ops[i].marker || told[method][kv])
            continue;
        told[method][kv] = true;
        status->kv[method][kv].requests++;
        status->kv[method][kv].request_ms += took_ms;
    }
}

static struct export_kv_count kv_count(const struct consul_lock_count *count)
{
    return (struct export_kv_count){
        .success = count->success,
        .fail = count->fail,
        .requests = count->success + count->fail,
        .request_ms = count->ms,
    };
}

void export_target_lock(struct export_target_status *status,
                        const struct consul_lock_counts *counts)
{
    status->kv[EXPORT_GET][EXPORT_LEADER] = kv_count(&counts->gets);
    status->kv[EXPORT_PUT][EXPORT_LEADER] = kv_count(&counts->puts);
}
