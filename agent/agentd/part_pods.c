// SPDX-License-Identifier: Apache-2.0
/*
 * Addresses for the kubelet's pods, as a part of the agent: what agent-cni asks at the socket goes
 * to the pods engine, and who waits is looked at after each pass.
 *
 * In a cluster, this node is kept in blocks as well (block_keeper.h).
 *
 * A pod is served once its routes stand and the programs of service NAT and of egress are on the
 * host's end, so that its first packet already goes as all the others will.
 */
#include <errno.h>
#include <string.h>

#include "agentd/part.h"
#include "base/log.h"
#include "base/macro.h"
#include "engine/egress/egress_engine.h"
#include "engine/nat/nat_engine.h"
#include "engine/pods/pods_engine.h"

static struct engine *engine_of(void *context)
{
    return engines_find(((struct agent *)context)->engines, &pods_engine_ops);
}

/* A full pool may be one that has nothing more to give. */
static enum pod_refusal refusal_of(const struct agent *agent, enum pod_refusal refusal,
                                   const char *pool)
{
    return refusal == POD_FULL && agent->blocks ? block_keeper_refusal(agent->blocks, pool)
                                                : refusal;
}

static enum pod_refusal on_want(void *context, const struct pod_request *request,
                                struct pod_grant *ret_grant)
{
    if (request->egress_only)
        return pods_engine_chain(engine_of(context), request);
    enum pod_refusal refusal = pods_engine_want(engine_of(context), request, ret_grant);
    return refusal_of(context, refusal, ret_grant->attachment.pod_interface.pool);
}

static bool on_grant(void *context, const struct pod_interface *key, struct pod_grant *ret_grant)
{
    return pods_engine_grant(engine_of(context), key, ret_grant);
}

static bool on_chained(void *context, const struct pod_interface *key)
{
    return pods_engine_chained(engine_of(context), key) != NULL;
}

static int on_wired(void *context, const struct pod_interface *key, uint32_t ifindex)
{
    int r = pods_engine_chain_wired(engine_of(context), key, ifindex);
    return r == -ENOENT ? pods_engine_wired(engine_of(context), key) : r;
}

/* Of egress the annotations of the Pod have to be known, and its addresses planned with. */
static bool is_read(const struct agent *agent, const struct pod_attachment *attachment)
{
    return !agent->config->egress.enabled || !agent->config->source.kubernetes ||
           !agent->status.source.synced || pods_engine_told(agent->store, attachment);
}

/* What the programs and the planners lack of a pod behind this link. */
static enum pod_lack service_lack(const struct agent *agent,
                                  const struct pod_attachment *attachment)
{
    const struct engine *nat = engines_find(agent->engines, &nat_engine_ops);
    const struct engine *egress = engines_find(agent->engines, &egress_engine_ops);
    if (!nat_engine_carries(nat, attachment->ifindex))
        return POD_NO_NAT;
    if (!egress_engine_carries(egress, attachment->ifindex))
        return POD_NO_EGRESS;
    return is_read(agent, attachment) ? POD_SERVED : POD_UNREAD;
}

static enum pod_lack chained_lack(const struct agent *agent,
                                  const struct pod_attachment *attachment)
{
    return link_find(kernel_links(agent->kernel), attachment->ifindex)
               ? service_lack(agent, attachment)
               : POD_NO_LINK;
}

static enum pod_lack on_lack(void *context, const struct pod_interface *key)
{
    const struct pod_attachment *chained = pods_engine_chained(engine_of(context), key);
    struct pod_grant grant;
    if (chained)
        return chained_lack(context, chained);
    if (!pods_engine_grant(engine_of(context), key, &grant))
        return POD_UNKNOWN;
    if (grant.attachment.ifindex == 0)
        return POD_NO_LINK;
    return grant.attachment.routed ? service_lack(context, &grant.attachment) : POD_NO_ROUTE;
}

static void on_attach(void *context, const struct pod_interface *key, const char *network)
{
    pods_engine_attach(engine_of(context), key, network);
}

static int on_free(void *context, const struct pod_interface *key)
{
    int r = pods_engine_chain_free(engine_of(context), key);
    return r ? r : pods_engine_free(engine_of(context), key);
}

static enum pod_refusal on_ready(void *context, bool egress_only)
{
    if (egress_only)
        return pods_engine_chain_ready(engine_of(context));
    return refusal_of(context, pods_engine_ready(engine_of(context)), "default");
}

static const struct pod_attachment *on_at(void *context, size_t index)
{
    const struct sorted *attachments = pods_engine_stays(engine_of(context));
    const struct sorted *chained = pods_engine_chain_list(engine_of(context));
    const size_t count = attachments ? attachments->count : 0;
    if (index < count)
        return sorted_at(attachments, index);
    return index - count < chained->count ? sorted_at(chained, index - count) : NULL;
}

int pods_prepare(void *context)
{
    struct agent *agent = context;
    return pods_engine_tell(engine_of(agent), agent->store);
}

/* ---- Blocks ---- */

static const struct pod_addresses *addresses_of(void *context)
{
    return pods_engine_addresses(engine_of(context));
}

static const pod_wait_list *waits_of(void *context)
{
    return pods_engine_waits(engine_of(context));
}

static void close_block(void *context, const char *block, bool closed)
{
    pods_engine_close_block(engine_of(context), block, closed);
}

static void on_blocks_changed(void *context)
{
    pods_api_look(((struct agent *)context)->pods_api);
}

/* What keeps this node from asking for blocks keeps it from nothing else: it gives what it has. */
static void connect_blocks(struct agent *agent)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct block_keeper_options options = {
        .event = agent->event,
        .node = agent->config->node,
        .store = agent->store,
        .faults = agent->status.faults,
        .empty_ms = agent->config->pods.empty_ms,
        .addresses = addresses_of,
        .waits = waits_of,
        .close = close_block,
        .changed = on_blocks_changed,
        .context = agent,
    };
    block_keeper_free(TAKE_PTR(agent->blocks));
    if (!agent->config->pods.enabled || !agent->config->source.kubernetes)
        return;
    int r = source_load_kubeconfig(agent, &options.config, &faults);
    r = r < 0 ? r : block_keeper_new(&options, &agent->blocks);
    if (r < 0)
        log_error("cannot ask for blocks of addresses: %s", strerror(-r));
}

/* ---- The part ---- */

static const struct block_ask *ask_at(void *context, size_t index)
{
    const struct agent *agent = context;
    return agent->blocks ? block_keeper_ask(agent->blocks, index) : NULL;
}

static void lend_to_documents(struct agent *agent)
{
    agent->pods_live = (struct pods_live){
        .attachments = pods_engine_stays(engine_of(agent)),
        .addresses = pods_engine_table(engine_of(agent)),
        .adds = pods_api_adds(agent->pods_api),
        .ask = ask_at,
        .context = agent,
    };
}

static int open_pods(struct agent *agent)
{
    const struct pods_api_options options = {
        .event = agent->event,
        .calls = { on_want, on_grant, on_chained, on_wired, on_lack, on_attach, on_free, on_ready,
                   on_at },
        .context = agent,
    };
    connect_blocks(agent);
    int r = pods_api_new(&options, &agent->pods_api);
    if (r < 0)
        return r;
    lend_to_documents(agent);
    return 0;
}

static void follow_pass(struct agent *agent)
{
    pods_api_look(agent->pods_api);
    if (agent->blocks && agent->status.source.synced)
        block_keeper_look(agent->blocks);
}

static void close_pods(struct agent *agent)
{
    block_keeper_free(agent->blocks);
    pods_api_free(agent->pods_api);
}

const struct part part_pods = {
    .name = "pods",
    .open = open_pods,
    .configure = connect_blocks,
    .reload = connect_blocks,
    .passed = follow_pass,
    .close = close_pods,
};
