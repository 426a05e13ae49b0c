/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agent-cni asks the agent for, at the unix socket, by root alone. The paths are below
 * /v1/pods/; docs/api.md has the documents.
 *
 * Two of the answers may come later: addresses that are about to be had, and that the kernel and
 * the programs hold a pod. Both are looked at again when pods_api_look() says that something is
 * another, and are refused with their cause when their time is over.
 */
#pragma once

#include <systemd/sd-event.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "loop/http.h"
#include "plan/pods/pod_attachment.h"
#include "status/histogram.h"

/* What the program does. None of it blocks. */
struct pods_calls {
    enum pod_refusal (*want)(void *context, const struct pod_request *wanted,
                             struct pod_grant *ret_grant);
    /* False: the pod interface is not known. */
    bool (*grant)(void *context, const struct pod_interface *key, struct pod_grant *ret_grant);
    /* Whether another plugin gave its addresses. */
    bool (*chained)(void *context, const struct pod_interface *key);
    /* `ifindex`: of the node's end. Returns 0 or -ENOENT. */
    int (*wired)(void *context, const struct pod_interface *key, uint32_t ifindex);
    enum pod_lack (*lack)(void *context, const struct pod_interface *key);
    /* Notes of a pod interface whose network is not known which one it is. */
    void (*attach)(void *context, const struct pod_interface *key, const char *network);
    /* Returns 1, 0 if the pod interface is not known, or -errno. */
    int (*free)(void *context, const struct pod_interface *key);
    /* Whether addresses can be had; with `egress_only` whether other plugins' pods can be led. */
    enum pod_refusal (*ready)(void *context, bool egress_only);
    /* The stay at a place of the list; NULL: behind the last. Borrowed until the next free. */
    const struct pod_attachment *(*at)(void *context, size_t index);
};

struct pods_api;

struct pods_api_options {
    sd_event *event;
    struct pods_calls calls;
    void *context;
};

/* Returns 0 or -errno. */
int pods_api_new(const struct pods_api_options *options, struct pods_api **ret_api);
/* After the server whose requests it has. */
void pods_api_free(struct pods_api *api);
DEFINE_CLEANUP(struct pods_api *, pods_api_free);

/* Answers a request whose path is below /v1/pods/, now or later. */
void pods_api_handle(struct pods_api *api, const struct http_request *request,
                     struct http_reply *reply);

/* How long it took from a pod's addresses until it was served, by histogram_sync. Borrowed. */
const struct histogram *pods_api_adds(const struct pods_api *api);

/* Who waits is looked at again. */
void pods_api_look(struct pods_api *api);
