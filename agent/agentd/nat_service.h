/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Service NAT as one part of the agent: the engine of its passes, the sweep over the flows, the
 * health endpoints, and what the API may ask of the live maps.
 */
#pragma once

#include <systemd/sd-event.h>

#include "api/nat_live.h"
#include "api/trace.h"
#include "base/cleanup.h"
#include "engine/nat/nat_engine.h"

struct nat_service;

struct nat_service_options {
    sd_event *event;
    const struct config *config;
    struct store *store;
    struct kernel *kernel;
    struct status *status;
    /* Called when a hook has lost its program, which the kernel tells nobody. */
    void (*lost)(void *context);
    void *context;
};

/* With NAT off, an empty part: its engine does nothing. Returns 0 or -errno. */
int nat_service_new(const struct nat_service_options *options, struct nat_service **ret_service);
void nat_service_free(struct nat_service *service);
DEFINE_CLEANUP(struct nat_service *, nat_service_free);

/* The engine, for the reconciler; borrowed. */
struct nat_engine *nat_service_engine(struct nat_service *service);

/* A reload: everything is planned again by the next pass. */
void nat_service_configure(struct nat_service *service, const struct config *config);
/* The source has seen something that is not applied yet. */
void nat_service_queued(struct nat_service *service);
/* A pass is done. */
void nat_service_passed(struct nat_service *service);

/* For the API; NULL: NAT is off, or could not be had. */
const struct nat_live *nat_service_live(struct nat_service *service);
/* A trace_function; its context is the service. */
int nat_service_trace(void *context, const struct trace_question *question,
                      struct trace *ret_trace);
