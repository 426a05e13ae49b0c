// SPDX-License-Identifier: Apache-2.0
/*
 * The document BackendList: every endpoint that the slices name, port by port, and which of the
 * Service's sets it is in by the plan. One in neither gets no new flows; if it serves all the same
 * ("serving"), it keeps those it has.
 *
 * Slices may hold copies of an endpoint while it moves from one to another; they are one item,
 * with what the best of them says, as in the planner. Flows are counted in one walk over the flow
 * tables, which is left out where it would be a long one.
 */
#include "api/view.h"

#include <errno.h>
#include <string.h>

#include "api/document.h"
#include "api/nat/view_nat.h"
#include "base/macro.h"
#include "model/services/endpoint_slice.h"

enum { FLOWS_COUNTED = 65536 };

struct backend {
    const struct nat_row *row;
    const struct nat_port *port;
    uint8_t family;
    struct nat_endpoint at;
    const char *node; /* "" unknown */
    bool ready, serving, terminating;
    uint64_t flows;
};

/* Sorted by backend_cmp(). */
typedef VEC(struct backend) backend_list;

/* Ports are in the order in which the row's family has them. */
static int backend_cmp(const void *left, const void *right)
{
    const struct backend *a = left, *b = right;
    int r = nat_row_cmp(&a->row, &b->row);
    if (r != 0)
        return r;
    r = CMP(a->family, b->family);
    if (r != 0)
        return r;
    r = CMP(a->port, b->port);
    return r ? r : nat_endpoint_cmp(&a->at, &b->at);
}

/* A slice's number for the Service's port; 0: it has none. */
static uint16_t slice_port_number(const struct endpoint_slice *slice, const struct nat_port *port)
{
    for (uint32_t i = 0; i < slice->port_count; i++) {
        const struct slice_port *candidate = &slice->ports[i];
        if (candidate->port && candidate->protocol == port->protocol &&
            strcmp(candidate->name, port->name) == 0)
            return candidate->port;
    }
    return 0;
}

static int add_slice(backend_list *list, const struct nat_row *row, const struct nat_port *port,
                     const struct endpoint_slice *slice)
{
    const uint16_t number = slice_port_number(slice, port);

    for (uint32_t i = 0; number && i < slice->endpoint_count; i++) {
        const struct endpoint *endpoint = &slice->endpoints[i];
        const struct backend backend = {
            .row = row,
            .port = port,
            .family = slice->family,
            .at = { endpoint->ip, number },
            .node = endpoint->node_name,
            .ready = endpoint->ready,
            .serving = endpoint->serving,
            .terminating = endpoint->terminating,
        };
        if (vec_push(list, backend) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* How much an endpoint can do: ready, else serving. */
static int rank(const struct backend *backend)
{
    return backend->ready ? 2 : backend->serving ? 1 : 0;
}

/* Sorts what is behind `first`, and keeps of copies the one that can do most. */
static void settle(backend_list *list, size_t first)
{
    size_t kept = first;

    if (list->count - first > 1)
        qsort(list->items + first, list->count - first, sizeof(*list->items), backend_cmp);
    for (size_t i = first; i < list->count; i++) {
        struct backend *last = kept > first ? &list->items[kept - 1] : NULL;
        if (!last || backend_cmp(last, &list->items[i]) != 0)
            list->items[kept++] = list->items[i];
        else if (rank(&list->items[i]) > rank(last))
            *last = list->items[i];
    }
    list->count = kept;
}

static int add_row(backend_list *list, const struct store *store, const struct nat_row *row)
{
    size_t count = 0;
    const struct endpoint_slice *const *slices =
        store_slices_of(store, row->namespace, row->name, &count);

    for (uint32_t f = 0; f < row->family_count; f++) {
        vec_each(const struct nat_port, port, &row->families[f].ports) {
            const size_t first = list->count;
            for (size_t i = 0; i < count; i++) {
                if (slices[i]->family == row->families[f].family && !slices[i]->headless_label &&
                    add_slice(list, row, port, slices[i]) < 0)
                    return -ENOMEM;
            }
            settle(list, first);
        }
    }
    return 0;
}

struct count_walk {
    const struct api_state *state;
    const backend_list *list;
    uint32_t id; /* of the Service whose row it is */
    const struct nat_row *row;
    size_t looked_at;
};

static void enter_service(struct count_walk *walk, uint32_t id)
{
    const struct nat_live *live = walk->state->live;
    char name[NAT_NAME_MAX];

    if (id == walk->id)
        return;
    walk->id = id;
    walk->row = find_nat_row_of(walk->state->nat, live->service_name(live->context, id, name));
}

static void count_at_port(const struct count_walk *walk, const struct nat_family *family,
                          const struct nat_port *port, const struct nat_flow_view *flow)
{
    const struct backend key = {
        .row = walk->row,
        .family = family->family,
        .port = port,
        .at = { flow->endpoint, flow->endpoint_port },
    };
    struct backend *found = vec_find(walk->list, &key, backend_cmp);
    if (found)
        found->flows++;
}

static int count_flow(const struct nat_flow_view *flow, void *context)
{
    struct count_walk *walk = context;

    walk->looked_at++;
    if (flow->service == 0 || flow->direct)
        return 0;
    enter_service(walk, flow->service);
    for (uint32_t f = 0; walk->row && f < walk->row->family_count; f++) {
        vec_each(const struct nat_port, port, &walk->row->families[f].ports) {
            if (port->protocol == (enum protocol)flow->protocol)
                count_at_port(walk, &walk->row->families[f], port, flow);
        }
    }
    return 0;
}

/* True if all flows have been counted. */
static bool count_flows(const struct api_state *state, const backend_list *list)
{
    struct count_walk walk = { .state = state, .list = list };
    const struct nat_status *nat = &state->status->nat;

    uint64_t flows = 0;
    for (enum nat_state flow = 0; flow < NAT_STATES; flow++)
        flows += nat->flows[flow];
    if (flows >= FLOWS_COUNTED)
        return false;
    if (list->count == 0)
        return true;
    int r = state->live->each_flow(state->live->context, FLOWS_COUNTED, count_flow, &walk);
    return r >= 0 && walk.looked_at < FLOWS_COUNTED;
}

static bool is_in(const nat_endpoint_list *set, const struct nat_endpoint *endpoint)
{
    return vec_find(set, endpoint, nat_endpoint_cmp);
}

static void write_sets(struct json *json, const struct backend *backend)
{
    const struct nat_port *port = backend->port;
    const bool cluster = is_in(&port->sets[NAT_SET_CLUSTER], &backend->at);
    const bool local = is_in(&port->sets[NAT_SET_LOCAL], &backend->at);

    json_begin_array(json, "sets");
    if (cluster)
        json_string(json, NULL, "cluster");
    if (local)
        json_string(json, NULL, "local");
    if (!cluster && !local && is_in(&port->serving, &backend->at))
        json_string(json, NULL, "serving");
    json_end_array(json);
}

static void write_backend(struct json *json, const struct backend *backend, const char *node,
                          bool counted)
{
    json_begin_object(json, NULL);
    json_string(json, "namespace", backend->row->namespace);
    json_string(json, "name", backend->row->name);
    json_int(json, "family", backend->family);
    json_string(json, "portName", backend->port->name);
    json_string(json, "protocol", protocol_name(backend->port->protocol));
    json_int(json, "port", backend->port->port);
    write_socket(json, "endpoint", &backend->at.ip, backend->at.port);
    write_sets(json, backend);
    json_string(json, "node", *backend->node ? backend->node : NULL);
    json_bool(json, "local", strcmp(backend->node, node) == 0);
    json_bool(json, "ready", backend->ready);
    json_bool(json, "serving", backend->serving);
    json_bool(json, "terminating", backend->terminating);
    if (counted)
        json_int(json, "flows", (int64_t)backend->flows);
    else
        json_null(json, "flows");
    json_end_object(json);
}

/* Those of one row, or of all; NULL. */
static int list_backends(const struct api_state *state, const struct nat_row *only,
                         backend_list *list)
{
    if (only)
        return add_row(list, state->store, only);
    for (size_t i = 0; i < state->nat->count; i++) {
        int r = add_row(list, state->store, nat_row_at(state->nat, i));
        if (r < 0)
            return r;
    }
    return 0;
}

bool view_backends(const struct api_state *state, const char *service, struct text *out)
{
    AUTOVEC backend_list list = { 0 };
    const struct nat_row *only = service ? find_nat_row_of(state->nat, service) : NULL;

    if (service && !only)
        return false;
    if (list_backends(state, only, &list) < 0)
        out->failed = true;
    const bool counted = count_flows(state, &list);
    struct json json = view_begin(out, "BackendList");
    json_begin_array(&json, "items");
    vec_each(const struct backend, backend, &list)
        write_backend(&json, backend, state->config->node, counted);
    json_end_array(&json);
    view_end(&json);
    return true;
}
