/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services of the local Consul agent in its HTTP API: parses its answers, and writes bodies and
 * paths of requests.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "format/doc.h"

/* What is queried: the second has our own checks, and those of maintenance mode. */
#define CONSUL_AGENT_SERVICES "/v1/agent/services?"
#define CONSUL_AGENT_CHECKS \
    "/v1/agent/checks?filter=Name%20%3D%3D%20Fingerpost%20or%20CheckID%20matches%20%22maintenance%22"
#define CONSUL_AGENT_REGISTER "/v1/agent/service/register?replace-existing-checks=true"

/* A service that the agent has. All borrowed; texts are "" where there is none. */
struct consul_agent_service {
    const char *id, *name, *address;
    unsigned port;
    const struct doc *tags, *meta; /* NULL: none */
};

/* Whether it has a tag; the text of its Meta under a name, or "". */
bool consul_agent_has_tag(const struct consul_agent_service *service, const char *tag);
const char *consul_agent_meta(const struct consul_agent_service *service, const char *name);

/* A check of ours, or one that puts a service, or the node, into maintenance mode. */
struct consul_agent_check {
    const char *service; /* its id; "": the node */
    const char *status, *output;
    const char *maintenance; /* the reason that was given; NULL: ours */
};

typedef int (*consul_agent_service_fn)(void *context, const struct consul_agent_service *service);
typedef int (*consul_agent_check_fn)(void *context, const struct consul_agent_check *check);

/* Calls `each` for all of an answer. Returns 0, -EBADMSG for what is no such answer, -ENOMEM, or
 * what `each` returned. */
int consul_agent_read_services(const char *body, size_t size, consul_agent_service_fn each,
                               void *context);
int consul_agent_read_checks(const char *body, size_t size, consul_agent_check_fn each,
                             void *context);

/* What is registered. All borrowed. */
struct consul_registration {
    const char *id, *address;
    unsigned port;
    const char *tags[2];
    struct {
        const char *name, *value;
    } meta[3];
    bool tcp;             /* with a check that connects to the port */
    unsigned health_port; /* with one that queries it by HTTP; 0: without */
    int64_t ttl_s;        /* of the TTL check that we update */
    bool healthy;
};

/* Writes the body for CONSUL_AGENT_REGISTER. */
void consul_agent_register(const struct consul_registration *registration, struct text *out);

/* Path and body of a PUT that sets the state of our check of a service. */
void consul_agent_update_path(const char *id, struct text *out);
void consul_agent_update(bool healthy, const char *why, struct text *out);

/* The path of a PUT that deregisters a service; it needs no body. */
void consul_agent_remove_path(const char *id, struct text *out);
