// SPDX-License-Identifier: Apache-2.0
/*
 * Compares the wanted services with the registered ones; see agent_services_diff.h. Called by
 * report/consul_keeper.c.
 *
 * Consul's agent does not return the definition of a check, so a service has the text of its checks
 * in its Meta.
 */
#include "plan/export/agent_services_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "faults/export.h"
#include "faults/raise.h"

/* The state of one comparison. */
struct walk {
    const struct agent_services *wanted;
    const struct agent_services_rule *rule;
    struct agent_services_diff *diff;
    struct faults *faults;
};

int agent_service_there_cmp(const void *a, const void *b)
{
    const struct agent_service_there *left = a, *right = b;
    return strcmp(left->id, right->id);
}

static bool is_ours(const struct walk *walk, const struct agent_service_there *there)
{
    return strcmp(there->cluster, walk->rule->cluster) == 0;
}

static int push(struct walk *walk, enum agent_service_act act, const char *id,
                const struct agent_service *wanted)
{
    return vec_push(&walk->diff->ops, (struct agent_service_op){ act, id, wanted });
}

static void foreign_fault(struct walk *walk, const struct agent_service *wanted)
{
    AUTOFREE char *place = text_format("service %s", wanted->id);
    walk->diff->foreign++;
    fault_raise(walk->faults, place, consul_service_foreign, .id = wanted->id,
                .owner = wanted->owner);
}

/* Whether its registration equals the wanted one. */
static bool is_same(const struct agent_service *wanted, const struct agent_service_there *there)
{
    char address[IP_STRLEN];
    return there->has_state && there->port == wanted->port &&
           strcmp(there->name, wanted->id) == 0 && strcmp(there->owner, wanted->owner) == 0 &&
           strcmp(there->checks, wanted->checks) == 0 &&
           strcmp(there->address, ip_str(&wanted->address, address)) == 0;
}

static int want(struct walk *walk, const struct agent_service *wanted,
                const struct agent_service_there *there)
{
    if (!there)
        return push(walk, AGENT_SERVICE_REGISTER, wanted->id, wanted);
    bool ours = is_ours(walk, there);
    if (!ours && !(there->exporter && !*there->cluster)) {
        foreign_fault(walk, wanted);
        return 0;
    }
    walk->diff->ours += ours;
    if (!ours || !there->exporter || !is_same(wanted, there))
        return push(walk, AGENT_SERVICE_REGISTER, wanted->id, wanted);
    if (walk->rule->renew || there->healthy != wanted->healthy ||
        strcmp(there->why, wanted->why) != 0)
        return push(walk, AGENT_SERVICE_UPDATE, wanted->id, wanted);
    return 0;
}

static int text_cmp(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int unwant(struct walk *walk, const struct agent_service_there *there)
{
    if (!is_ours(walk, there))
        return 0;
    walk->diff->ours++;
    if (vec_find(&walk->wanted->refused, &there->owner, text_cmp)) {
        walk->diff->kept++;
        return 0;
    }
    return walk->rule->may_remove ? push(walk, AGENT_SERVICE_REMOVE, there->id, NULL) : 0;
}

static int walk_all(struct walk *walk, const agent_services_there *have)
{
    size_t i = 0, j = 0;
    int r = 0;
    while (r == 0 && (i < walk->wanted->list.count || j < have->count)) {
        const struct agent_service *wanted =
            i < walk->wanted->list.count ? &walk->wanted->list.items[i] : NULL;
        const struct agent_service_there *there = j < have->count ? &have->items[j] : NULL;
        int order = !wanted ? 1 : !there ? -1 : strcmp(wanted->id, there->id);
        i += order <= 0;
        j += order >= 0;
        r = order > 0 ? unwant(walk, there) : want(walk, wanted, order == 0 ? there : NULL);
    }
    return r;
}

int agent_services_compare(const struct agent_services *wanted, const agent_services_there *have,
                           const struct agent_services_rule *rule,
                           struct agent_services_diff *ret_diff, struct faults *faults)
{
    CLEANUP(agent_services_diff_done) struct agent_services_diff diff = { 0 };
    struct walk walk = { wanted, rule, &diff, faults };
    int r = walk_all(&walk, have);
    if (r < 0)
        return r;
    *ret_diff = TAKE_STRUCT(diff);
    return 0;
}

void agent_services_diff_done(struct agent_services_diff *diff)
{
    vec_done(&diff->ops);
}
