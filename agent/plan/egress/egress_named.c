// SPDX-License-Identifier: Apache-2.0
/*
 * Faults between an Egress and the pods of this node that name it: it does not exist, or has
 * destinations in families in which they have no address.
 *
 * A thousand pods of one Deployment make one fault: it names the first, and counts the others.
 */
#include <errno.h>

#include "faults/egress.h"
#include "faults/raise.h"
#include "plan/egress/egress.h"
#include "plan/egress/egress_names.h"

/* The pods of a fault. */
struct concerned {
    const struct pod *first; /* NULL: none */
    size_t count;
};

static bool has_a_family(const struct pod *pod, const struct egress *egress)
{
    for (uint32_t i = 0; i < pod->ip_count; i++) {
        if (egress_has_family(egress, pod->ips[i].family))
            return true;
    }
    return false;
}

/* A pod that has no address at all is about to start. */
static bool is_concerned(const struct pod *pod, const struct egress *egress)
{
    return !egress || (pod->ip_count && !has_a_family(pod, egress));
}

static struct concerned find(const struct node_facts *facts, const struct egress_ref *ref,
                             const struct egress *egress)
{
    struct concerned concerned = { 0 };
    size_t count;
    const struct pod *const *pods = store_pods_of(facts->store, ref->namespace, ref->name, &count);
    for (size_t i = 0; i < count; i++) {
        if (!egress_is_local(facts, pods[i]) || !is_concerned(pods[i], egress))
            continue;
        concerned.first = concerned.first ? concerned.first : pods[i];
        concerned.count++;
    }
    return concerned;
}

int plan_egress_named(const struct node_facts *facts, const struct egress_ref *ref,
                      struct faults *faults)
{
    const struct egress *egress = egress_of(facts, ref);
    const struct concerned concerned = find(facts, ref, egress);
    if (!concerned.first)
        return 0;
    const struct object *first = &concerned.first->object;
    const int64_t more = (int64_t)concerned.count - 1;
    AUTOFREE char *place = text_format("Egress %s/%s", ref->namespace, ref->name);
    AUTOFREE char *pod = text_format("%s/%s", first->namespace, first->name);
    if (!place || !pod)
        return -ENOMEM;
    if (!egress)
        fault_raise(faults, place, egress_unknown, .namespace = ref->namespace, .pod = pod,
                    .more = more);
    else
        fault_raise(faults, place, egress_without_family, .pod = pod, .more = more);
    return 0;
}
