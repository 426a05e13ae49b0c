/* SPDX-License-Identifier: Apache-2.0 */
/* The agent from the inside: shared by the files that wire it together, and by nobody else. */
#pragma once

#include <systemd/sd-event.h>

#include "agentd/agent.h"
#include "agentd/bgp.h"
#include "agentd/copy_keeper.h"
#include "agentd/nat_service.h"
#include "agentd/notify.h"
#include "agentd/standing.h"
#include "api/api.h"
#include "apply/kernel.h"
#include "engine/reconcile.h"
#include "loop/http.h"
#include "source/kube.h"
#include "source/manifest.h"
#include "store/store.h"

struct agent {
    sd_event *event;
    char *config_path;
    struct config *config;
    int lock;
    struct store *store;
    struct status status;
    struct kernel *kernel;
    struct route_engine engine;
    struct nat_service *nat;
    struct reconciler *reconciler;
    struct standing_keeper *standing;
    struct bgp *bgp;
    struct api_state api_state;
    struct api api;
    struct http_server *socket, *tcp;
    struct manifest_source *manifests; /* one of the two sources */
    struct kube_source *kube;
    struct copy_keeper *copy; /* with kube, as the next two */
    char *copy_path, *kubeconfig_text;
    struct notifier *notifier;
    bool settled; /* kube: it has synced, or the wait for it is over */
    bool ready;
};

/* The API: the socket in paths.run or the manager's, and api.listen. Returns 0 or -errno. */
int agent_open_api(struct agent *agent);
void agent_close_api(struct agent *agent);
/* What the API borrows of NAT, which a pass may have brought up. */
void agent_refresh_api(struct agent *agent);

/* The source of objects. Returns 0 or -errno. */
int agent_open_source(struct agent *agent);
void agent_close_source(struct agent *agent);
/* The generation up to which the source's events are in the store. */
uint64_t agent_loaded_generation(const struct agent *agent);
/* Looks for what the source may have missed; after a reload, for another kubeconfig, too. */
void agent_doubt_source(struct agent *agent);
void agent_reload_source(struct agent *agent);
