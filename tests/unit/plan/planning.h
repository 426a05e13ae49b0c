/* SPDX-License-Identifier: Apache-2.0 */
/* Objects given as YAML, in a store, and what is planned of them for "node-1". */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmocka_all.h"
#include "format/reader.h"
#include "model/object.h"
#include "plan/routes/affected.h"
#include "plan/routes/route_list.h"
#include "plan/routes/routes.h"
#include "store/store.h"

struct planning {
    struct store *store;
    struct config *config;
    struct node_facts facts;
    struct route_inputs inputs; /* of these facts */
    struct faults faults;
};

static inline void planning_begin(struct planning *planning)
{
    *planning = (struct planning){ .store = store_new() };
    assert_non_null(planning->store);
    assert_int_equal(config_default("/m", &planning->config), 0);
    free(planning->config->node);
    planning->config->node = strdup("node-1");
    planning->facts = (struct node_facts){
        .store = planning->store,
        .config = planning->config,
    };
    planning->inputs = (struct route_inputs){ .node = &planning->facts };
}

static inline void planning_done(struct planning *planning)
{
    store_free(planning->store);
    config_free(planning->config);
    faults_done(&planning->faults);
}

#define AUTOPLANNING CLEANUP(planning_done)

static inline struct object *object_of(const char *yaml)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    struct object *object = NULL;
    assert_int_equal(document_parse(yaml, strlen(yaml), "t", READER_YAML, &document, &faults), 1);
    if (object_decode(document, &object, NULL, &faults, &faults) != 1)
        fail_msg("%s\n%s", faults.list.count ? faults.list.items[0].message : "?", yaml);
    return object;
}

static inline void put(struct planning *planning, const char *yaml)
{
    assert_true(store_put(planning->store, "t", object_of(yaml)) >= 0);
}

static inline void add_range(prefix_list *ranges, const char *text)
{
    struct prefix prefix;
    assert_int_equal(prefix_parse(text, &prefix), 0);
    assert_int_equal(vec_push(ranges, prefix), 0);
}

/* A service "d/NAME" with port 80 and these further lines of metadata, spec and ingress. */
static inline void put_service(struct planning *planning, const char *name, const char *metadata,
                               const char *spec, const char *ingress)
{
    AUTOFREE char *yaml =
        text_format("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: d%s%s}\n"
                    "spec: {type: LoadBalancer, ports: [{name: h, port: 80}]%s%s}\n"
                    "status: {loadBalancer: {ingress: [%s]}}\n",
                    name, *metadata ? ", " : "", metadata, *spec ? ", " : "", spec, ingress);
    put(planning, yaml);
}

/* A slice of one endpoint for a service's port h. */
static inline void put_endpoint(struct planning *planning, const char *slice, const char *service,
                                const char *address, const char *node, const char *conditions)
{
    AUTOFREE char *yaml = text_format(
        "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"
        "metadata: {name: %s, namespace: d, labels: {kubernetes.io/service-name: %s}}\n"
        "addressType: %s\nports: [{name: h, port: 8080}]\n"
        "endpoints: [{addresses: [\"%s\"], nodeName: %s, conditions: {%s}}]\n",
        slice, service, strchr(address, ':') ? "IPv6" : "IPv4", address, node, conditions);
    put(planning, yaml);
}

/* The row of an address, which the caller frees; NULL: no service names it. */
static inline struct address_row *row_of(struct planning *planning, const char *text)
{
    struct ip ip;
    struct address_row *row = NULL;
    assert_int_equal(ip_parse(text, &ip), 0);
    assert_int_equal(plan_address(&planning->inputs, &ip, NULL, &row, &planning->faults), 0);
    return row;
}

/* Its reason's name; "none" without a row. */
static inline const char *reason_of(struct planning *planning, const char *address)
{
    struct address_row *row = row_of(planning, address);
    const char *name = row ? address_reason_name(row->reason) : "none";
    address_row_free(row);
    return name;
}
