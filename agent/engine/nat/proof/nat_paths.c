// SPDX-License-Identifier: Apache-2.0
/*
 * Changed routes; see nat_paths.h. The NAT engine passes the kernel's notifications in `hear`,
 * takes the rows that are due in `write`, and checks before it proves a row. The search for rows
 * walks the endpoints of all of them: some nanoseconds each, where a proof takes microseconds. A
 * flood of routes (a BGP table that is loaded) puts all rows in doubt once, at most every ten
 * seconds.
 */
#include "engine/nat/proof/nat_paths.h"

#include <errno.h>

#include "base/macro.h"

void nat_paths_done(struct nat_paths *paths)
{
    vec_done(&paths->doubts);
}

static struct nat_path_change *find(struct nat_paths *paths, const struct prefix *net)
{
    vec_each(struct nat_path_change, doubt, &paths->doubts) {
        if (prefix_cmp(&doubt->net, net) == 0)
            return doubt;
    }
    return NULL;
}

static void invalidate_all(struct nat_paths *paths, int64_t now_ms)
{
    if (!paths->all_ms)
        paths->all_ms = MAX(now_ms + NAT_PATH_SETTLE_MS,
                            paths->all_last_ms ? paths->all_last_ms + NAT_PATHS_ALL_MS : 0);
}

/* A new path ends a grace: the address is another pod's. A deleted one leaves it unchanged. */
static int note(struct nat_paths *paths, const struct path_change *change, int64_t now_ms)
{
    struct nat_path_change *known = find(paths, &change->net);
    struct nat_path_change fresh = { .net = change->net, .due_ms = now_ms };
    if (change->fate == PATH_LINK_GONE) {
        fresh.due_ms += NAT_PATH_GRACE_MS;
        fresh.grace = true;
    } else if (change->fate == PATH_WENT) {
        if (known && known->grace)
            return 0;
        fresh.due_ms += NAT_PATH_SETTLE_MS;
    }
    if (known) {
        *known = fresh;
        return 0;
    }
    if (paths->doubts.count >= NAT_PATHS_MAX) {
        invalidate_all(paths, now_ms);
        return 0;
    }
    return vec_push(&paths->doubts, fresh);
}

int nat_paths_hear(struct nat_paths *paths, const struct kernel_events *events, int64_t now_ms)
{
    int r = 0;
    vec_each(const struct path_change, change, &events->paths) {
        if (r == 0)
            r = note(paths, change, now_ms);
    }
    if (events->many_paths)
        invalidate_all(paths, now_ms);
    if (events->other_rules) /* seldom: the route of any packet may have changed */
        paths->all_ms = MAX(now_ms + NAT_PATH_SETTLE_MS, paths->all_last_ms + NAT_PATHS_RULES_MS);
    return r;
}

static bool leads_to(const struct prefix *net, const nat_endpoint_list *list)
{
    vec_each(const struct nat_endpoint, endpoint, list) {
        if (prefix_contains(net, &endpoint->ip))
            return true;
    }
    return false;
}

static bool touches(const struct prefix *net, const struct nat_row *row)
{
    for (uint32_t i = 0; i < row->family_count; i++) {
        if (row->families[i].family != net->ip.family)
            continue;
        vec_each(const struct nat_port, port, &row->families[i].ports) {
            for (size_t set = 0; set < NAT_SETS; set++) {
                if (leads_to(net, &port->sets[set]))
                    return true;
            }
        }
    }
    return false;
}

static int take_rows(const struct sorted *rows, const struct prefix *net, struct sorted *to_prove)
{
    sorted_each(struct nat_row *const, row, rows) {
        int r = !net || touches(net, *row) ? sorted_put(to_prove, row) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

int nat_paths_take_due(struct nat_paths *paths, const struct sorted *rows, int64_t now_ms,
                       struct sorted *to_prove)
{
    size_t kept = 0;
    int r = 0;
    if (paths->all_ms && paths->all_ms <= now_ms) {
        paths->all_ms = 0;
        paths->all_last_ms = now_ms;
        r = take_rows(rows, NULL, to_prove);
    }
    vec_each(const struct nat_path_change, doubt, &paths->doubts) {
        if (r < 0 || doubt->due_ms > now_ms)
            paths->doubts.items[kept++] = *doubt;
        else
            r = take_rows(rows, &doubt->net, to_prove);
    }
    paths->doubts.count = kept;
    return r;
}

bool nat_paths_spare(const struct nat_paths *paths, const struct nat_row *row, int64_t now_ms)
{
    vec_each(const struct nat_path_change, doubt, &paths->doubts) {
        if (doubt->grace && doubt->due_ms > now_ms && touches(&doubt->net, row))
            return true;
    }
    return false;
}

bool nat_paths_new(struct nat_paths *paths, int64_t now_ms)
{
    if (!paths->began_ms)
        paths->began_ms = now_ms;
    return now_ms < paths->began_ms + NAT_PATH_BEGIN_MS;
}

int64_t nat_paths_next_ms(const struct nat_paths *paths)
{
    int64_t next = paths->all_ms ? paths->all_ms : INT64_MAX;
    vec_each(const struct nat_path_change, doubt, &paths->doubts)
        next = MIN(next, doubt->due_ms);
    return next;
}
