// SPDX-License-Identifier: Apache-2.0
/*
 * What is wrong between an Egress and the pods of this node that name it: it does not exist, or has
 * destinations in families of which they have no address.
 *
 * A thousand pods of one Deployment make one fault: it names the first, and counts the others.
 */
#include <errno.h>

#include "plan/egress.h"
#include "plan/egress_names.h"

/* The pods that a fault is about. */
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

/* "Pod shop/web-1", "Pod shop/web-1 and 3 more" */
static void add_pods(struct text *out, const struct concerned *concerned)
{
    const struct object *pod = &concerned->first->object;
    text_addf(out, "Pod %s/%s", pod->namespace, pod->name);
    if (concerned->count > 1)
        text_addf(out, " and %zu more", concerned->count - 1);
}

int plan_egress_named(const struct node_facts *facts, const struct egress_ref *ref,
                      struct faults *faults)
{
    const struct egress *egress = egress_of(facts, ref);
    const struct concerned concerned = find(facts, ref, egress);
    AUTOTEXT struct text place = { 0 }, pods = { 0 };
    if (!concerned.first)
        return 0;
    text_addf(&place, "Egress %s/%s", ref->namespace, ref->name);
    add_pods(&pods, &concerned);
    if (place.failed || pods.failed)
        return -ENOMEM;
    if (!egress)
        faults_add(faults, text_str(&place),
                   "create it, or take its name out of the pods' annotation",
                   "does not exist, but annotation egress.coil.cybozu.com/%s of %s names it; until "
                   "it does, their packets don't leave the cluster",
                   ref->namespace, text_str(&pods));
    else
        faults_add(faults, text_str(&place),
                   "give it destinations of the pods' family, or take its name out of the pods' "
                   "annotation",
                   "is named by %s, but has no destination of an address family of theirs",
                   text_str(&pods));
    return 0;
}
