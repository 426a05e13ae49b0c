// SPDX-License-Identifier: Apache-2.0
/*
 * The plane of a gateway; see gateway.h.
 *
 * A client has an id, which names its blocks of ports and its flows. A client that goes takes its
 * flows along: its address may be another pod's soon, who must not get the answers. Then its blocks
 * are free. An id is given out again only after all others.
 */
#include "apply/egress/blocks.h"
#include "apply/egress/gateway_inside.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/egress/pinned.h"
#include "apply/nat/addr.h"
#include "apply/nat/plane_inside.h"
#include "apply/nat/programs.h"
#include "apply/nat/table.h"
#include "base/macro.h"
#include "base/text.h"
#include "bpf/egress_gateway.skel.h"

static int client_cmp(const void *a, const void *b)
{
    const struct installed_client *left = a, *right = b;
    return ip_cmp(&left->address, &right->address);
}

/* ---- opening ---- */

/* Gives the program the maps of the NAT plane. */
static int share(struct egress_gate *gate)
{
    for (int i = 0; i < NAT_MAP_COUNT; i++) {
        struct bpf_map *map =
            bpf_object__find_map_by_name(gate->programs->obj, nat_map_name((enum nat_map_index)i));
        int r = map ? bpf_map__reuse_fd(map, gate->nat->maps[i].fd) : -ENOENT;
        if (r < 0)
            return r;
    }
    return 0;
}

static int map_arrays(struct egress_gate *gate)
{
    gate->control = pinned_map_array(gate->programs->maps.egress_control);
    gate->ports = pinned_map_array(gate->programs->maps.egress_ports);
    gate->blocks = pinned_map_array(gate->programs->maps.egress_blocks);
    gate->drops = pinned_map_array(gate->programs->maps.egress_drops);
    gate->client_limit = bpf_map__max_entries(gate->programs->maps.egress_ports);
    gate->block_limit = bpf_map__max_entries(gate->programs->maps.egress_blocks);
    gate->told = calloc(gate->block_limit, sizeof(*gate->told));
    return gate->control && gate->ports && gate->blocks && gate->drops && gate->told ? 0 : -ENOMEM;
}

static int adopt(struct egress_gate *gate)
{
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
            };
            gate->last_id = MAX(gate->last_id, client.id);
            r = sorted_put(&gate->clients, &client);
            if (r < 0)
                return r;
        }
    }
    return r;
}

static int load(struct egress_gate *gate)
{
    gate->programs = egress_gateway_programs__open();
    if (!gate->programs)
        return errno ? -errno : -ENOMEM;
    int r = gate->folder ? pinned_prepare(gate->programs->obj, gate->folder) : 0;
    if (r == 0)
        r = share(gate);
    if (r == 0)
        r = egress_gateway_programs__load(gate->programs);
    if (r == 0)
        r = map_arrays(gate);
    if (r < 0)
        return r;
    return adopt(gate);
}

static char *folder_of(const char *pins)
{
    return text_format("%s/egress-gateway-%d", pins, EGRESS_LAYOUT);
}

int egress_gate_open(struct nat_plane *nat, const char *pins, struct egress_gate **ret_gate,
                     struct faults *faults)
{
    CLEANUP(egress_gate_closep) struct egress_gate *gate = calloc(1, sizeof(*gate));
    if (!gate)
        return -ENOMEM;
    gate->nat = nat;
    gate->clients = (struct sorted)SORTED(struct installed_client, client_cmp);
    gate->folder = pins ? folder_of(pins) : NULL;
    int r = pins && !gate->folder ? -ENOMEM : load(gate);
    if (r < 0) {
        pinned_explain(r, faults);
        return r;
    }
    *ret_gate = TAKE_PTR(gate);
    return 0;
}

void egress_gate_close(struct egress_gate *gate)
{
    if (!gate)
        return;
    if (gate->programs) {
        pinned_unmap_array(gate->programs->maps.egress_control, gate->control);
        pinned_unmap_array(gate->programs->maps.egress_ports, gate->ports);
        pinned_unmap_array(gate->programs->maps.egress_blocks, gate->blocks);
        pinned_unmap_array(gate->programs->maps.egress_drops, gate->drops);
        egress_gateway_programs__destroy(gate->programs);
    }
    sorted_each(struct installed_client, client, &gate->clients)
        free(client->pod);
    sorted_done(&gate->clients);
    free(gate->told);
    free(gate->folder);
    free(gate);
}

int egress_gate_unpin(const char *pins)
{
    AUTOFREE char *folder = folder_of(pins);
    return folder ? pinned_remove(folder) : -ENOMEM;
}

int egress_gate_program(struct egress_gate *gate)
{
    return bpf_program__fd(gate->programs->progs.gateway_in);
}

int egress_gate_twin(struct egress_gate *gate)
{
    return bpf_program__fd(gate->programs->progs.gateway_twin);
}

uint32_t egress_gate_program_id(const struct egress_gate *gate)
{
    struct bpf_prog_info info = { 0 };
    uint32_t length = sizeof(info);
    int fd = bpf_program__fd(gate->programs->progs.gateway_in);
    return bpf_obj_get_info_by_fd(fd, &info, &length) == 0 ? info.id : 0;
}

/* ---- settings ---- */

static const uint32_t phase_flags[] = {
    [EGRESS_GATE_OPEN] = 0,
    [EGRESS_GATE_LEAVING] = EGRESS_LEAVING,
    [EGRESS_GATE_CLOSED] = EGRESS_LEAVING | EGRESS_NO_NEW_FLOWS,
    [EGRESS_GATE_GONE] = EGRESS_LEAVING | EGRESS_NO_NEW_FLOWS | EGRESS_GONE,
};

enum egress_gate_phase egress_gate_phase(const struct egress_gate *gate)
{
    enum egress_gate_phase phase = EGRESS_GATE_GONE;
    while (phase > EGRESS_GATE_OPEN && gate->control->flags != phase_flags[phase])
        phase--;
    return phase;
}

uint64_t egress_gate_established(const struct egress_gate *gate)
{
    return nat_plane_established(gate->nat, true);
}

void egress_gate_set(struct egress_gate *gate, const struct egress_gate_settings *settings)
{
    struct egress_control *control = gate->control;
    uint32_t ports = settings->last_port - settings->first_port + 1u;
    control->port = htons(settings->port);
    control->snat_first = settings->first_port;
    control->block_size = settings->block;
    control->block_count = MIN(ports / settings->block, gate->block_limit);
    control->client_blocks = MIN(settings->client_blocks, (uint32_t)EGRESS_BLOCKS_MAX);
    control->flags = phase_flags[settings->phase];
    memcpy(control->by_route, settings->by_route, sizeof(control->by_route));
    for (int i = 0; i < 2; i++) {
        control->snat[i] = nat_addr_of(&settings->source[i]);
        control->own[i] = nat_addr_of(&settings->own[i]);
    }
}

/* ---- clients ---- */

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

/* Takes over what the client's pod is called. */
static int name_client(struct installed_client *installed, const struct egress_client *client)
{
    char *pod = text_format("%s/%s", client->namespace, client->name);
    if (!pod)
        return -ENOMEM;
    free(installed->pod);
    installed->pod = pod;
    return 0;
}

static int add_client(struct egress_gate *gate, const struct egress_client *wanted)
{
    struct installed_client client = { .address = wanted->address, .id = new_id(gate) };
    const struct nat_addr addr = nat_addr_of(&client.address);
    const struct egress_client_value value = { .id = client.id, .check = nat_check(&addr, 0) };
    if (!client.id)
        return -ENOSPC;
    memset(&gate->ports[client.id], 0, sizeof(gate->ports[client.id]));
    if (bpf_map_update_elem(bpf_map__fd(gate->programs->maps.egress_clients), &addr, &value,
                            BPF_ANY) < 0)
        return -errno;
    int r = name_client(&client, wanted);
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

/* Ends all flows of clients that are gone. */
static int end_flows(struct egress_gate *gate, const installed_client_list *gone)
{
    AUTOWALK struct nat_walk walk;
    nat_table_walk(gate->nat, NAT_MAP_FLOWS, &walk);
    int r;
    while ((r = nat_walk_next(&walk)) > 0) {
        for (uint32_t i = 0; i < walk.count; i++) {
            const struct nat_flow *flow = nat_walk_value(&walk, i);
            const struct installed_client key = { .id = flow->port };
            if (flow->hand != NAT_HAND_EGRESS || !vec_find(gone, &key, egress_client_id_cmp))
                continue;
            r = nat_table_remove(gate->nat, NAT_MAP_FLOWS, nat_walk_key(&walk, i));
            if (r < 0)
                return r;
        }
    }
    return r;
}

static void clients_done(installed_client_list *clients)
{
    vec_each(struct installed_client, client, clients)
        free(client->pod);
    vec_done(clients);
}

static int remove_clients(struct egress_gate *gate, const struct sorted *clients)
{
    CLEANUP(clients_done) installed_client_list gone = { 0 };
    for (size_t i = gate->clients.count; i-- > 0;) {
        const struct installed_client client =
            *(const struct installed_client *)sorted_at(&gate->clients, i);
        struct egress_client key = { .address = client.address }, *pointer = &key;
        if (sorted_find(clients, &pointer))
            continue;
        const struct nat_addr addr = nat_addr_of(&client.address);
        if (bpf_map_delete_elem(bpf_map__fd(gate->programs->maps.egress_clients), &addr) < 0 &&
            errno != ENOENT)
            return -errno;
        int r = vec_push(&gone, client);
        if (r < 0)
            return r;
        sorted_remove(&gate->clients, &client);
    }
    if (gone.count == 0)
        return 0;
    vec_sort(&gone, egress_client_id_cmp);
    int r = end_flows(gate, &gone);
    if (r < 0)
        return r;
    egress_blocks_free(gate, &gone);
    return (int)gone.count;
}

int egress_gate_write(struct egress_gate *gate, const struct sorted *clients, bool may_remove,
                      struct faults *faults)
{
    int changes = 0, r = 0;
    sorted_each(struct egress_client *, client, clients) {
        const struct installed_client key = { .address = (*client)->address };
        struct installed_client *installed = sorted_find(&gate->clients, &key);
        if (installed && is_named(installed, *client))
            continue;
        r = installed ? name_client(installed, *client) : add_client(gate, *client);
        if (r < 0)
            break;
        changes += !installed;
    }
    if (r == 0 && may_remove)
        r = remove_clients(gate, clients);
    if (r >= 0)
        return changes + r;
    faults_add(faults, "egress.gateway", NULL, "its clients can't be written: %s", strerror(-r));
    return r;
}
