// SPDX-License-Identifier: Apache-2.0
/*
 * Requests of agent-cni to the engine: addresses for an interface, and their release. Called by the
 * API, outside of rounds; work in the kernel is left to the next round. Nothing is granted before a
 * round has seen the kernel's links: an address that is in use could be assigned twice.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "apply/netlink/link.h"
#include "base/clock.h"
#include "base/macro.h"
#include "base/net/tunnel.h"
#include "engine/pods/pods_engine.h"
#include "engine/pods/pods_state.h"
#include "model/address_block.h"
#include "model/pod.h"

enum {
    MTU_DEFAULT = 1500,
    MTU_MIN = 1280, /* of IPv6 */
};

static bool has_addresses(const struct pod_attachment *attachment)
{
    return attachment->pod_interface.v4.family != IP_NONE ||
           attachment->pod_interface.v6.family != IP_NONE;
}

/* The smallest MTU of an interface by which routes lead to other routers. */
static uint32_t uplink_mtu(const struct pods_engine *pods)
{
    uint32_t mtu = 0;
    sorted_each(const struct link_path, path, kernel_paths(pods->setup.kernel)) {
        struct pod_interface pod_interface;
        const struct link *link = link_find(kernel_links(pods->setup.kernel), path->ifindex);
        if (path->net.ip.family != IP_NONE || !link || link_is_svc0(link) ||
            pod_interface_of_alias(link->alias, &pod_interface))
            continue;
        mtu = mtu ? MIN(mtu, link->mtu) : link->mtu;
    }
    return mtu ? mtu : MTU_DEFAULT;
}

/* The pool's MTU, or else the largest that the path allows. */
static uint32_t pod_mtu(const struct pods_engine *pods, const char *pool)
{
    const struct object *object = store_get(pods->setup.store, KIND_ADDRESS_POOL, "", pool);
    if (object && to_address_pool(object)->mtu)
        return to_address_pool(object)->mtu;
    uint32_t mtu = uplink_mtu(pods), less = pods->setup.config->egress.enabled ? TUNNEL_ROOM : 0;
    return mtu >= MTU_MIN + less ? mtu - less : MAX(mtu, (uint32_t)MTU_MIN);
}

static void fill_grant(const struct pods_engine *pods, const struct pod_attachment *attachment,
                       struct pod_grant *ret_grant)
{
    *ret_grant = (struct pod_grant){ .attachment = *attachment,
                                     .mtu = pod_mtu(pods, attachment->pod_interface.pool) };
    pod_interface_host_name(&attachment->pod_interface, ret_grant->host);
    (void)pod_interface_alias(&attachment->pod_interface, ret_grant->alias);
}

/* A folder of manifests need not have every Namespace; the API will have it eventually. */
static enum pod_refusal find_pool(const struct pods_engine *pods, const char *namespace,
                                  const char **ret_pool)
{
    const struct object *object = store_get(pods->setup.store, KIND_NAMESPACE, "", namespace);
    *ret_pool = object ? to_namespace(object)->pool : "default";
    return object || pods->setup.config->source.manifests ? POD_GRANTED : POD_NAMESPACE;
}

bool pods_is_same(const struct pod_attachment *attachment, const struct pod_request *request)
{
    if (!*attachment->name)
        return true; /* found at the start */
    return strcmp(attachment->namespace, request->namespace) == 0 &&
           strcmp(attachment->name, request->name) == 0 &&
           (!*attachment->uid || !*request->uid || strcmp(attachment->uid, request->uid) == 0);
}

static enum pod_refusal enter(struct pods_engine *pods, const struct pod_attachment *attachment)
{
    if (pod_addresses_put(&pods->addresses, &attachment->pod_interface) < 0)
        return POD_MEMORY;
    if (sorted_put(&pods->attachments, attachment) == 0)
        return POD_GRANTED;
    (void)pod_addresses_free(&pods->addresses, &attachment->pod_interface, clock_wall_ms());
    return POD_MEMORY;
}

static void name_stay(struct pod_attachment *attachment, const struct pod_request *request)
{
    snprintf(attachment->namespace, sizeof(attachment->namespace), "%s", request->namespace);
    snprintf(attachment->name, sizeof(attachment->name), "%s", request->name);
    snprintf(attachment->uid, sizeof(attachment->uid), "%s", request->uid);
    if (*request->network)
        snprintf(attachment->network, sizeof(attachment->network), "%s", request->network);
    attachment->promised_ms = clock_mono_ms();
    attachment->since_wall_ms = clock_wall_ms();
    attachment->wired = false;
}

/* When a wait for a pool is already recorded, another request changes nothing. */
static void note_wait(struct pods_engine *pods, const char *pool)
{
    const int64_t now_ms = clock_mono_ms();
    struct pod_wait wait = { .since_ms = now_ms, .asked_ms = now_ms };
    vec_each(struct pod_wait, known, &pods->waits) {
        if (strcmp(known->pool, pool) == 0) {
            known->asked_ms = wait.asked_ms;
            return;
        }
    }
    snprintf(wait.pool, sizeof(wait.pool), "%s", pool);
    if (pods->waits.count < POD_WAITS_MAX && vec_push(&pods->waits, wait) == 0)
        pods->setup.wake(pods->setup.context);
}

/* Other waiting runtimes retry. */
static void end_wait(struct pods_engine *pods, const char *pool)
{
    size_t kept = 0;
    vec_each(const struct pod_wait, known, &pods->waits) {
        if (strcmp(known->pool, pool) != 0)
            pods->waits.items[kept++] = *known;
    }
    pods->waits.count = kept;
}

/*
 * Whether the selected address was freed so recently that packets to the previous pod may still
 * arrive: peers, and other nodes' endpoints, learn of its end later than this node does. An address
 * freed in the future (the clock was set back) has an unknown age, and is not held back.
 */
static bool rests(struct pods_engine *pods, const struct pod_interface *chosen)
{
    const int64_t now_ms = clock_wall_ms();
    const int64_t freed_ms = pod_addresses_freed_ms(&pods->addresses, chosen);
    const int64_t until_ms = freed_ms + pods->setup.config->pods.least_rest_ms;
    if (freed_ms > now_ms || now_ms >= until_ms)
        return false;
    if (until_ms < pods->rested_wall_ms) {
        pods->rested_wall_ms = until_ms;
        pods->setup.wake(pods->setup.context);
    }
    return true;
}

static enum pod_refusal grant_new(struct pods_engine *pods, const struct pod_request *request,
                                  struct pod_attachment *attachment)
{
    const char *pool;
    char alias[POD_INTERFACE_ALIAS_LEN];
    enum pod_refusal refusal = find_pool(pods, request->namespace, &pool);
    if (refusal != POD_GRANTED)
        return refusal;
    if (pod_interface_name(request->container, request->interface, pool,
                           &attachment->pod_interface) < 0 ||
        pod_interface_alias(&attachment->pod_interface, alias) < 0)
        return POD_BAD_NAME;
    if (!pod_addresses_choose(&pods->addresses, clock_wall_ms(), pods->setup.config->pods.rest_ms,
                              &attachment->pod_interface)) {
        note_wait(pods, pool);
        return POD_FULL;
    }
    if (rests(pods, &attachment->pod_interface))
        return POD_RESTING;
    name_stay(attachment, request);
    end_wait(pods, pool);
    return enter(pods, attachment);
}

enum pod_refusal pods_engine_want(struct engine *engine, const struct pod_request *request,
                                  struct pod_grant *ret_grant)
{
    struct pods_engine *pods = (struct pods_engine *)engine;
    struct pod_attachment attachment = { 0 };
    if (!pods->setup.config->pods.enabled)
        return POD_OFF;
    if (!pods->known)
        return POD_EARLY;
    if (pod_interface_name(request->container, request->interface, "default",
                           &attachment.pod_interface) < 0 ||
        strlen(request->namespace) >= sizeof(attachment.namespace) ||
        strlen(request->network) >= sizeof(attachment.network) ||
        strlen(request->name) >= sizeof(attachment.name) ||
        strlen(request->uid) >= sizeof(attachment.uid))
        return POD_BAD_NAME;
    struct pod_attachment *known = pods_attachment(pods, &attachment.pod_interface);
    enum pod_refusal refusal = POD_GRANTED;
    if (known && !pods_is_same(known, request))
        return POD_OTHER;
    if (known && has_addresses(known)) {
        name_stay(known, request);
        attachment = *known;
    } else {
        refusal = grant_new(pods, request, &attachment);
    }
    if (refusal != POD_GRANTED) {
        ret_grant->attachment = attachment;
        return refusal;
    }
    pods->unsaved = pods->dirty = true;
    pods->setup.wake(pods->setup.context);
    fill_grant(pods, &attachment, ret_grant);
    return POD_GRANTED;
}

bool pods_engine_grant(const struct engine *engine, const struct pod_interface *key,
                       struct pod_grant *ret_grant)
{
    const struct pods_engine *pods = (const struct pods_engine *)engine;
    const struct pod_attachment *attachment = pods_attachment(pods, key);
    if (!attachment || !has_addresses(attachment))
        return false;
    fill_grant(pods, attachment, ret_grant);
    return true;
}

int pods_engine_wired(struct engine *engine, const struct pod_interface *key)
{
    struct pods_engine *pods = (struct pods_engine *)engine;
    struct pod_attachment *attachment = pods_attachment(pods, key);
    if (!attachment || !has_addresses(attachment))
        return -ENOENT;
    attachment->wired = true;
    attachment->mtu = 0;        /* its end may be a new one */
    attachment->routed = false; /* until a round has seen the link as it is now */
    pods->dirty = true;
    pods->setup.wake(pods->setup.context);
    return 0;
}

/* Written by the next round. */
void pods_engine_attach(struct engine *engine, const struct pod_interface *key, const char *network)
{
    struct pods_engine *pods = (struct pods_engine *)engine;
    struct pod_attachment *attachment = pods_attachment(pods, key);
    if (!attachment)
        attachment = sorted_find(&pods->chained, key);
    if (!attachment || strlen(network) >= sizeof(attachment->network))
        return;
    snprintf(attachment->network, sizeof(attachment->network), "%s", network);
    pods->unsaved = pods->dirty = true;
    pods->setup.wake(pods->setup.context);
}

static void forget_loss(struct pods_engine *pods, const struct pod_interface *key)
{
    size_t kept = 0;
    vec_each(const struct pod_loss, loss, &pods->losses) {
        if (pod_interface_cmp(&loss->attachment.pod_interface, key) != 0)
            pods->losses.items[kept++] = *loss;
    }
    if (kept == pods->losses.count)
        return;
    pods->losses.count = kept;
    pods->dirty = true;
    pods->setup.wake(pods->setup.context);
}

static int delete_link(struct pods_engine *pods, uint32_t ifindex)
{
    int r = nl_link_delete(pods->socket, ifindex, NULL);
    return r == -ENODEV ? 0 : r;
}

static bool is_of(const struct nl_link *link, const struct pod_interface *key)
{
    struct pod_interface pod_interface;
    if (strcmp(link->kind, "veth") != 0)
        return false;
    return !*link->alias || (pod_interface_of_alias(link->alias, &pod_interface) &&
                             !pod_interface_cmp(&pod_interface, key));
}

/*
 * A link that an ADD made before it was killed, ahead of the alias; or one not reported to the
 * agent yet.
 */
static int delete_unknown(struct pods_engine *pods, const struct pod_interface *key)
{
    char host[POD_INTERFACE_INTERFACE_MAX + 1];
    struct nl_link link;
    pod_interface_host_name(key, host);
    int r = nl_link_find(pods->socket, host, &link);
    if (r == 0 && is_of(&link, key))
        r = delete_link(pods, link.ifindex);
    return r == -ENODEV ? 0 : r;
}

/* Deletes the link as well: a remaining link would be adopted again as a pod interface. */
int pods_engine_free(struct engine *engine, const struct pod_interface *key)
{
    struct pods_engine *pods = (struct pods_engine *)engine;
    const struct pod_attachment *attachment = pods_attachment(pods, key);
    int r = 0;
    forget_loss(pods, key);
    if (attachment && attachment->ifindex &&
        link_find(kernel_links(pods->setup.kernel), attachment->ifindex))
        r = delete_link(pods, attachment->ifindex);
    if (r == 0 && pods->socket)
        r = delete_unknown(pods, key);
    if (r < 0 || !attachment)
        return r;
    r = pods_forget(pods, key);
    pods->dirty = true;
    pods->setup.wake(pods->setup.context);
    return r;
}

/* Where no pod starts before an address is available, only this call requests the first block. */
enum pod_refusal pods_engine_ready(struct engine *engine)
{
    struct pods_engine *pods = (struct pods_engine *)engine;
    if (!pods->setup.config->pods.enabled)
        return POD_OFF;
    if (!pods->known)
        return POD_EARLY;
    sorted_each(const struct pod_block, block, &pods->addresses.blocks) {
        if (!block->reserved && !block->closed &&
            pod_block_used(&pods->addresses, block) < pod_block_size(block))
            return POD_GRANTED;
    }
    note_wait(pods, "default");
    return POD_FULL;
}
