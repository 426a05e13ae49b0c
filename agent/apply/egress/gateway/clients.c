// SPDX-License-Identifier: Apache-2.0
/*
 * The clients of a gateway in its maps; see clients.h.
 *
 * A client has an id, which identifies its blocks of ports and its flows. When a client is removed,
 * its flows end: its address may soon belong to another pod, which must not get the replies. That
 * has the same cost for any number of flows: the id gets another generation (egress_abi.h). Then
 * its blocks are freed. An id is allocated again only after all others.
 */
#include "apply/egress/gateway/clients.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/egress/gateway/blocks.h"
#include "apply/nat/datapath_inside.h"
#include "apply/nat/maps/addr.h"
#include "apply/nat/maps/table.h"
#include "base/macro.h"
#include "base/remedy.h"
#include "base/text.h"
#include "bpf/egress_gateway.skel.h"
#include "faults/egress.h"
#include "faults/raise.h"

static int client_cmp(const void *a, const void *b)
{
    const struct installed_client *left = a, *right = b;
    return ip_cmp(&left->address, &right->address);
}

int egress_clients_adopt(struct egress_gate *gate)
{
    gate->clients = (struct sorted)SORTED(struct installed_client, client_cmp);
    AUTOWALK struct nat_walk walk;
    nat_walk_start(&walk, bpf_map__fd(gate->programs->maps.egress_clients), sizeof(struct nat_addr),
                   sizeof(struct egress_client_value));
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            const struct egress_client_value *value = nat_walk_value(&walk, i);
            const struct installed_client client = {
                .address = nat_addr_ip(nat_walk_key(&walk, i)),
                .id = value->id,
                .policy = value->id < gate->client_limit ? gate->ports[value->id].policy : 0,
            };
            gate->last_id = MAX(gate->last_id, client.id);
            r = sorted_put(&gate->clients, &client);
            if (r < 0)
                return r;
        }
    }
    return r;
}

static bool has_id(const struct egress_gate *gate, uint32_t id)
{
    sorted_each(const struct installed_client, client, &gate->clients) {
        if (client->id == id)
            return true;
    }
    return false;
}

/* 0: all are in use. */
static uint32_t new_id(struct egress_gate *gate)
{
    for (uint32_t tries = 1; tries < gate->client_limit; tries++) {
        gate->last_id = gate->last_id + 1 < gate->client_limit ? gate->last_id + 1 : 1;
        if (gate->clients.count < tries || !has_id(gate, gate->last_id))
            return gate->last_id;
    }
    return 0;
}

/* Adopts the name of the client's pod. */
static int name_client(struct installed_client *installed, const struct egress_client *client)
{
    char *pod = text_format("%s/%s", client->namespace, client->name);
    if (!pod)
        return -ENOMEM;
    free(installed->pod);
    installed->pod = pod;
    return 0;
}

bool egress_client_is_clientless(const struct nat_flow *flow, const void *context)
{
    const struct egress_gate *gate = context;
    return flow->port >= gate->client_limit ||
           !egress_flow_has_client(flow, &gate->ports[flow->port]);
}

static void end_generation(struct egress_gate *gate, uint32_t id)
{
    uint32_t generation = gate->ports[id].generation;
    __atomic_store_n(&gate->ports[id].generation, generation + (generation & 1), __ATOMIC_SEQ_CST);
}

/* The row of an id whose new client has no ports and, by its generation, no flows. */
static void begin_row(struct egress_gate *gate, uint32_t id)
{
    end_generation(gate, id); /* an earlier agent may have exited before it did that */
    const uint32_t generation = gate->ports[id].generation;
    gate->ports[id] = (struct egress_ports_value){ .generation = generation };
    __atomic_store_n(&gate->ports[id].generation, generation + 1, __ATOMIC_SEQ_CST);
}

/* A newly allocated id, with no flows and no ports. */
static int give_id(struct egress_gate *gate, struct installed_client *client)
{
    const struct nat_addr addr = nat_addr_of(&client->address);
    const struct egress_client_value value = { .id = new_id(gate), .check = nat_check(&addr, 0) };
    if (!value.id)
        return -ENOSPC;
    begin_row(gate, value.id);
    gate->ports[value.id].policy = client->policy;
    if (bpf_map_update_elem(bpf_map__fd(gate->programs->maps.egress_clients), &addr, &value,
                            BPF_ANY) < 0)
        return -errno;
    client->id = value.id;
    return 0;
}

static int add_client(struct egress_gate *gate, const struct egress_client *wanted)
{
    const struct egress_policy_key policy = egress_client_policy(wanted);
    struct installed_client client = {
        .address = wanted->address,
        .policy = egress_policy_id(&gate->policies, &policy),
    };
    int r = give_id(gate, &client);
    if (r == 0)
        r = name_client(&client, wanted);
    if (r == 0)
        r = sorted_put(&gate->clients, &client);
    if (r < 0)
        free(client.pod);
    return r;
}

static bool is_named(const struct installed_client *installed, const struct egress_client *client)
{
    size_t length = strlen(client->namespace);
    const char *pod = installed->pod;
    return pod && strncmp(pod, client->namespace, length) == 0 && pod[length] == '/' &&
           strcmp(pod + length + 1, client->name) == 0;
}

/* Whether any of them may have a block. */
static bool had_blocks(const struct egress_gate *gate, const installed_client_list *clients)
{
    vec_each(const struct installed_client, client, clients) {
        if (gate->ports[client->id].count)
            return true;
    }
    return false;
}

/* Releases the blocks of clients that were removed, under these ids. Returns the number of these
 * clients. */
static int end(struct egress_gate *gate, installed_client_list *gone)
{
    if (had_blocks(gate, gone)) {
        vec_sort(gone, egress_client_id_cmp);
        egress_blocks_free(gate, gone);
    }
    return (int)gone->count;
}

static void clients_done(installed_client_list *clients)
{
    vec_each(struct installed_client, client, clients)
        free(client->pod);
    vec_done(clients);
}

static const struct egress_client *find_client(const struct sorted *clients,
                                               const struct ip *address)
{
    const struct egress_client key = { .address = *address }, *pointer = &key;
    struct egress_client *const *found = sorted_find(clients, &pointer);
    return found ? *found : NULL;
}

/* The program does not find the client and its flows any more; its blocks are still to be freed. */
static int remove_client(struct egress_gate *gate, const struct installed_client *client,
                         installed_client_list *gone)
{
    const struct installed_client copy = *client;
    const struct nat_addr addr = nat_addr_of(&copy.address);
    if (bpf_map_delete_elem(bpf_map__fd(gate->programs->maps.egress_clients), &addr) < 0 &&
        errno != ENOENT)
        return -errno;
    end_generation(gate, copy.id);
    int r = vec_push(gone, copy);
    if (r < 0)
        return r;
    sorted_remove(&gate->clients, &copy);
    return 0;
}

static int remove_clients(struct egress_gate *gate, const struct sorted *clients)
{
    CLEANUP(clients_done) installed_client_list gone = { 0 };
    int r = 0;
    for (size_t i = gate->clients.count; r == 0 && i-- > 0;) {
        const struct installed_client *client = sorted_at(&gate->clients, i);
        r = find_client(clients, &client->address) ? 0 : remove_client(gate, client, &gone);
    }
    int ended = end(gate, &gone); /* also of clients that were processed before an error */
    return r < 0 ? r : ended;
}

void egress_clients_done(struct egress_gate *gate)
{
    sorted_each(struct installed_client, client, &gate->clients)
        free(client->pod);
    sorted_done(&gate->clients);
}

/* ---- another layout of ports ---- */

static bool has_other_blocks(const struct egress_gate *gate, const struct egress_layout *layout,
                             const struct installed_client *client)
{
    const struct egress_ports_value *ports = &gate->ports[client->id];
    for (uint32_t i = 0; i < EGRESS_BLOCKS_MAX; i++) {
        if (ports->blocks[i] &&
            egress_layout_differs(layout, &gate->layout, client->address.family == IP_V6,
                                  ports->blocks[i] - 1u))
            return true;
    }
    return false;
}

/* Gives the client another id, and records the old one, whose blocks are to be freed. This order
 * is required: otherwise the program adds flows under the old id meanwhile. */
static int renew(struct egress_gate *gate, struct installed_client *client,
                 installed_client_list *gone)
{
    struct installed_client before = *client;
    before.pod = client->pod ? strdup(client->pod) : NULL;
    int r = client->pod && !before.pod ? -ENOMEM : vec_reserve(gone, 1);
    if (r == 0)
        r = give_id(gate, client);
    if (r < 0) {
        free(before.pod);
        return r;
    }
    end_generation(gate, before.id);
    return vec_push(gone, before); /* there is room */
}

int egress_clients_lay_out(struct egress_gate *gate, const struct egress_layout *layout)
{
    CLEANUP(clients_done) installed_client_list gone = { 0 };
    int r = 0;
    sorted_each(struct installed_client, client, &gate->clients) {
        if (r == 0 && has_other_blocks(gate, layout, client))
            r = renew(gate, client, &gone);
    }
    int ended = end(gate, &gone);
    if (r == 0)
        gate->layout = *layout;
    return r < 0 ? r : ended;
}

/* Returns whether the client's policy has changed. */
static bool set_policy(struct egress_gate *gate, struct installed_client *installed,
                       const struct egress_client *client)
{
    const struct egress_policy_key key = egress_client_policy(client);
    const uint32_t policy = egress_policy_id(&gate->policies, &key);
    if (installed->policy == policy)
        return false;
    installed->policy = policy;
    __atomic_store_n(&gate->ports[installed->id].policy, policy, __ATOMIC_RELEASE);
    return true;
}

/* Returns how many clients were added or have another policy, or -errno. */
static int write_client(struct egress_gate *gate, const struct egress_client *client)
{
    const struct installed_client key = { .address = client->address };
    struct installed_client *installed = sorted_find(&gate->clients, &key);
    const bool moved = installed && set_policy(gate, installed, client);
    if (installed && is_named(installed, client))
        return moved;
    int r = installed ? name_client(installed, client) : add_client(gate, client);
    return r < 0 ? r : !installed || moved;
}

static int tell_error(int r, struct faults *faults)
{
    if (r < 0)
        fault_raise(faults, "egress.gateway", egress_gateway_clients_unwritable,
                    .reason = strerror(-r), .remedy = remedy_for_kernel(r));
    return r;
}

static int write_clients(struct egress_gate *gate, const struct sorted *clients, int *written)
{
    sorted_each(struct egress_client *, client, clients) {
        int r = write_client(gate, *client);
        if (r < 0)
            return r;
        *written += r;
    }
    return 0;
}

int egress_gate_write(struct egress_gate *gate, const struct egress_gate_wanted *wanted,
                      struct faults *faults)
{
    AUTOSORTED struct sorted routes = SORTED(struct egress_route, egress_route_cmp);
    const struct egress_destinations destinations = { wanted->policies, wanted->excluded,
                                                      wanted->excluded_count };
    int written = 0;
    int r = egress_policies_write(&gate->policies, &destinations, &routes, &written);
    if (r == 0)
        r = write_clients(gate, wanted->clients, &written);
    if (r < 0 || !wanted->may_remove)
        return r < 0 ? tell_error(r, faults) : written;
    int gone = remove_clients(gate, wanted->clients);
    r = gone < 0 ? gone : egress_policies_drop(&gate->policies, &destinations, &routes, &written);
    return r < 0 ? tell_error(r, faults) : written + gone;
}

int egress_gate_write_some(struct egress_gate *gate, const struct sorted *clients,
                           const ip_list *addresses, bool may_remove, struct faults *faults)
{
    CLEANUP(clients_done) installed_client_list gone = { 0 };
    int changes = 0, r = 0;
    vec_each(const struct ip, address, addresses) {
        const struct egress_client *client = find_client(clients, address);
        const struct installed_client key = { .address = *address };
        const struct installed_client *installed = sorted_find(&gate->clients, &key);
        if (client)
            r = write_client(gate, client);
        else
            r = may_remove && installed ? remove_client(gate, installed, &gone) : 0;
        if (r < 0)
            break;
        changes += r;
    }
    int ended = end(gate, &gone);
    return r < 0 ? tell_error(r, faults) : changes + ended;
}
