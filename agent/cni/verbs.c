// SPDX-License-Identifier: Apache-2.0
/*
 * The commands of CNI; see verbs.h.
 *
 * agentd decides and remembers, and owns the node's end of the wire; all that is done here is what
 * it has no right to: to go into the pod's namespace, and to write sysctls. It is told before the
 * link is made (which address is free?) and after (`wired`): it answers when its routes and
 * programs have the pod, so that the pod's first packet is served.
 *
 * An ADD that fails takes back what it did, in reverse. If it can't, or is killed, nothing is lost:
 * the runtime calls DEL, and agentd goes by the links that there are.
 */
#include "cni/verbs.h"

#include <errno.h>

#include "base/cleanup.h"
#include "cni/inside.h"
#include "cni/plan.h"
#include "cni/pods.h"
#include "cni/privilege.h"
#include "cni/result.h"
#include "cni/turn.h"
#include "cni/wire.h"

/* Makes the wire that a plan asks for, and says so to agentd. */
static int connect_pod(struct wire *wire, const struct cni_request *request,
                       const struct plan *plan, struct cni_error *error)
{
    CLEANUP(nl_closep) struct nl_socket *pod = NULL;
    int r = wire_make(wire, request, plan, error);
    if (r < 0)
        return r;
    r = inside_enter(wire, &pod, error);
    if (r < 0)
        return r;
    r = inside_wire(pod, wire, request, plan, error);
    return r < 0 ? r : pods_wired(request, &wire->ends, error);
}

static int answer(struct text *out, struct cni_error *error)
{
    return text_error(out) == 0
               ? 0
               : cni_fail(error, CNI_INTERNAL, "free memory on the node", "no memory");
}

/* What an ADD did, backwards. Why it failed is known already. */
static void take_back(struct wire *wire, const struct cni_request *request)
{
    struct cni_error second;
    wire_undo(wire);
    (void)pods_forget(request, &second);
}

static int connect_and_answer(struct wire *wire, const struct cni_request *request,
                              const struct plan *plan, struct text *out, struct cni_error *error)
{
    int r = connect_pod(wire, request, plan, error);
    if (r < 0)
        return r;
    result_write(out, request, plan, &wire->ends);
    return answer(out, error);
}

static int add_first(struct wire *wire, const struct cni_request *request, struct text *out,
                     struct cni_error *error)
{
    CLEANUP(plan_done) struct plan plan = { 0 };
    int r = pods_plan(request, &plan, error);
    if (r < 0)
        return r;
    r = connect_and_answer(wire, request, &plan, out, error);
    if (r < 0)
        take_back(wire, request);
    return r;
}

/* Behind another plugin, whose pair is found from inside, and proved from outside. */
static int prove_chained(struct wire *wire, const struct cni_request *request, ip_list *addresses,
                         struct cni_error *error)
{
    CLEANUP(nl_closep) struct nl_socket *pod = NULL;
    uint32_t host_index = 0;
    int r = result_addresses(request, addresses, error);
    if (r < 0)
        return r;
    r = inside_enter(wire, &pod, error);
    if (r < 0)
        return r;
    r = inside_find(pod, request, wire, &host_index, error);
    return r < 0 ? r : wire_find_host(wire, wire->pod_index, host_index, error);
}

/* agentd answers when the programs are on the node's end, and have the pod's row. */
static int lead_chained(struct wire *wire, const struct cni_request *request,
                        const ip_list *addresses, struct cni_error *error)
{
    int r = pods_announce(request, addresses, error);
    return r < 0 ? r : pods_wired(request, &wire->ends, error);
}

static int add_chained(struct wire *wire, const struct cni_request *request, struct text *out,
                       struct cni_error *error)
{
    AUTOVEC ip_list addresses = { 0 };
    struct cni_error second;
    int r = result_pass(out, request, error);
    if (r < 0)
        return r;
    r = prove_chained(wire, request, &addresses, error);
    if (r < 0)
        return r;
    r = lead_chained(wire, request, &addresses, error);
    if (r < 0)
        (void)pods_forget(request, &second);
    return r;
}

static int run_add(const struct cni_request *request, struct text *out, struct cni_error *error)
{
    CLEANUP(wire_done) struct wire wire = { .netns = -1 };
    AUTOCLOSE int turn = -1;
    int r = turn_take(request, &turn, error);
    if (r < 0)
        return r;
    r = wire_open(request, false, &wire, error);
    if (r < 0)
        return r;
    r = privilege_keep(PRIVILEGE_ENTER, error);
    if (r < 0)
        return r;
    return request->egress_only ? add_chained(&wire, request, out, error)
                                : add_first(&wire, request, out, error);
}

/*
 * Without agentd the pod's interface is found from inside, and deleted by the node's end if that
 * names the container: the path of a namespace may lead to another pod's by now. By the links
 * agentd finds, when it comes back, that the address is free.
 */
static int del_alone(struct wire *wire, const struct cni_request *request, struct cni_error *error)
{
    CLEANUP(nl_closep) struct nl_socket *pod = NULL;
    uint32_t host_index = 0;
    if (request->egress_only || wire->netns < 0)
        return 0;
    int r = inside_enter(wire, &pod, error);
    if (r < 0 || !inside_peer(pod, request, wire, &host_index))
        return r;
    return wire_remove(wire, request, host_index, error);
}

static int run_del(const struct cni_request *request, struct text *out, struct cni_error *error)
{
    (void)out;
    CLEANUP(wire_done) struct wire wire = { .netns = -1 };
    AUTOCLOSE int turn = -1;
    int r = turn_take(request, &turn, error);
    if (r < 0)
        return r;
    r = wire_open(request, true, &wire, error);
    if (r < 0)
        return r;
    r = privilege_keep(PRIVILEGE_ENTER, error);
    if (r < 0)
        return r;
    r = pods_forget(request, error);
    return r == -ENOTCONN ? del_alone(&wire, request, error) : r;
}

static int check_wire(struct wire *wire, const struct cni_request *request, struct cni_error *error)
{
    CLEANUP(plan_done) struct plan plan = { 0 };
    CLEANUP(nl_closep) struct nl_socket *pod = NULL;
    int r = pods_read(request, &plan, error);
    if (r < 0)
        return r;
    r = wire_find(wire, &plan, error);
    if (r < 0)
        return r;
    r = inside_enter(wire, &pod, error);
    return r < 0 ? r : inside_check(pod, wire, request, &plan, error);
}

/* It is told again what ADD told: agentd need not remember, and proves all of it. */
static int check_chained(struct wire *wire, const struct cni_request *request,
                         struct cni_error *error)
{
    AUTOVEC ip_list addresses = { 0 };
    int r = prove_chained(wire, request, &addresses, error);
    return r < 0 ? r : lead_chained(wire, request, &addresses, error);
}

static int run_check(const struct cni_request *request, struct text *out, struct cni_error *error)
{
    (void)out;
    CLEANUP(wire_done) struct wire wire = { .netns = -1 };
    int r = wire_open(request, false, &wire, error);
    if (r < 0)
        return r;
    r = privilege_keep(PRIVILEGE_ENTER, error);
    if (r < 0)
        return r;
    return request->egress_only ? check_chained(&wire, request, error)
                                : check_wire(&wire, request, error);
}

static int run_gc(const struct cni_request *request, struct text *out, struct cni_error *error)
{
    (void)out;
    int r = privilege_keep(PRIVILEGE_NONE, error);
    return r < 0 ? r : pods_collect(request, error);
}

/* Pods that there are keep their network, whatever is wrong: the kernel has it. */
static int run_status(const struct cni_request *request, struct text *out, struct cni_error *error)
{
    (void)out;
    int r = privilege_keep(PRIVILEGE_NONE, error);
    r = r < 0 ? r : pods_ready(request, error);
    if (r < 0)
        error->code = CNI_NOT_AVAILABLE;
    return r;
}

static int run_version(const struct cni_request *request, struct text *out, struct cni_error *error)
{
    cni_version_write(out, request->asked_version);
    return answer(out, error);
}

int verb_run(const struct cni_request *request, struct text *out, struct cni_error *error)
{
    static int (*const verbs[CNI_COMMANDS])(const struct cni_request *, struct text *,
                                            struct cni_error *) = {
        [CNI_ADD] = run_add, [CNI_DEL] = run_del,       [CNI_CHECK] = run_check,
        [CNI_GC] = run_gc,   [CNI_STATUS] = run_status, [CNI_VERSION] = run_version,
    };
    return verbs[request->command](request, out, error);
}
