/* SPDX-License-Identifier: Apache-2.0 */
/* Objects made by hand. What differs between versions of an object is in few parameters. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/services/endpoint_slice.h"
#include "model/services/service.h"

static inline void *make_object(enum kind kind, size_t size, const char *namespace,
                                const char *name)
{
    struct arena *arena = arena_new(512);
    struct object *object = arena_alloc(arena, size);
    *object = (struct object){
        .kind = kind,
        .namespace = arena_strdup(arena, namespace),
        .name = arena_strdup(arena, name),
        .file = "",
        .uid = "",
        .version = "",
        .arena = arena,
    };
    return object;
}

/* A service in namespace "n" whose addresses are "10.0.0.1 10.0.0.2"; origins take turns. */
static inline struct object *make_service(const char *name, int64_t created_ms,
                                          const char *addresses)
{
    struct service *service = make_object(KIND_SERVICE, sizeof(*service), "n", name);
    struct service_address *list =
        arena_alloc_array(service->object.arena, strlen(addresses) + 1, sizeof(*list));
    char *copy = arena_strdup(service->object.arena, addresses), *rest;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        struct service_address *address = &list[service->address_count];
        assert_int_equal(ip_parse(word, &address->ip), 0);
        address->origin = (enum address_origin)(service->address_count++ % 3);
    }
    service->object.created_ms = created_ms;
    service->addresses = list;
    return &service->object;
}

/* Gives a service node ports, in the order of its ports; 0: none. */
static inline struct object *with_node_ports(struct object *object, const uint16_t *node_ports,
                                             uint32_t count)
{
    struct service *service = (struct service *)object;
    struct service_port *ports = arena_alloc_array(object->arena, count, sizeof(*ports));
    for (uint32_t i = 0; i < count; i++) {
        ports[i] = (struct service_port){ .name = "",
                                          .protocol = i % 2 ? PROTOCOL_UDP : PROTOCOL_TCP,
                                          .port = 80,
                                          .node_port = node_ports[i] };
    }
    service->ports = ports;
    service->port_count = count;
    return object;
}

/* A slice in namespace "n" with one port, whose number stands for its content. */
static inline struct object *make_slice(const char *name, const char *service, uint16_t port)
{
    struct endpoint_slice *slice = make_object(KIND_ENDPOINT_SLICE, sizeof(*slice), "n", name);
    struct slice_port *ports = arena_alloc_array(slice->object.arena, 1, sizeof(*ports));
    *ports = (struct slice_port){ .name = "", .protocol = PROTOCOL_TCP, .port = port };
    slice->service = arena_strdup(slice->object.arena, service);
    slice->family = IP_V4;
    slice->ports = ports;
    slice->port_count = 1;
    return &slice->object;
}

static inline struct object *make_node(const char *name, bool excluded)
{
    struct node *node = make_object(KIND_NODE, sizeof(*node), "", name);
    node->excluded = excluded;
    return &node->object;
}

/* A pod in namespace "n" with two equal addresses, whose annotation names the Egress "net/EGRESS".
 */
static inline struct object *make_pod(const char *name, int64_t created_ms, const char *address,
                                      const char *egress)
{
    struct pod *pod = make_object(KIND_POD, sizeof(*pod), "n", name);
    struct ip *ips = arena_alloc_array(pod->object.arena, 2, sizeof(*ips));
    struct egress_ref *refs = arena_alloc_array(pod->object.arena, 1, sizeof(*refs));
    assert_int_equal(ip_parse(address, &ips[0]), 0);
    ips[1] = ips[0];
    *refs = (struct egress_ref){ "net", arena_strdup(pod->object.arena, egress) };
    pod->object.created_ms = created_ms;
    pod->node_name = "";
    pod->ips = ips;
    pod->ip_count = 2;
    pod->egresses = refs;
    pod->egress_count = 1;
    return &pod->object;
}

static inline struct ip address_of(const char *text)
{
    struct ip ip;
    assert_int_equal(ip_parse(text, &ip), 0);
    return ip;
}
