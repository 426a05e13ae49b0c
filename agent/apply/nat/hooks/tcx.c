// SPDX-License-Identifier: Apache-2.0
/*
 * TCX links (Linux 6.6). The numbers of their types are repeated here, because the headers and
 * libbpf of the oldest supported build system do not have them; that libbpf still passes them on to
 * the kernel.
 *
 * A link is detached when its device is deleted. Its pin remains, and opens a link of interface 0
 * from then on; the interface's index may belong to another device by now, or the link to another
 * network namespace. So a link counts as attached only if the kernel lists its program in that
 * place.
 *
 * The kernel runs the programs of a place in order, until one of them decides. We attach before all
 * others; a program that later does the same is before ours, and ours gets only the packets that it
 * passes on.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "apply/nat/hooks/tcx.h"
#include "base/cleanup.h"

enum {
    TCX_INGRESS = 46, /* enum bpf_attach_type */
    TCX_EGRESS = 47,
    LINK_TYPE_TCX = 11, /* enum bpf_link_type */
    BEFORE = 1 << 3,    /* BPF_F_BEFORE: before all, if no program is given */
    AFTER = 1 << 4,     /* BPF_F_AFTER */
    LOOPBACK_IFINDEX = 1,
    PROGRAMS_MAX = 64, /* on one hook: the kernel's own limit */
};

static enum bpf_attach_type attach_type(const struct nat_place *place)
{
    return (enum bpf_attach_type)(place->direction == NAT_INGRESS ? TCX_INGRESS : TCX_EGRESS);
}

bool tcx_supported(void)
{
    const struct nat_place loopback = { .ifindex = LOOPBACK_IFINDEX, .direction = NAT_INGRESS };
    uint32_t count = 0;
    return bpf_prog_query(LOOPBACK_IFINDEX, attach_type(&loopback), 0, NULL, NULL, &count) == 0;
}

/*
 * The kernel expects the descriptor of the program to attach after in the field that has a BTF id
 * for links of other types. This libbpf does not support TCX links, and passes that id on for all
 * types.
 */
int tcx_attach(const struct nat_place *place, int program, int leader, int *ret_link)
{
    LIBBPF_OPTS(bpf_link_create_opts, options, .flags = leader < 0 ? BEFORE : AFTER,
                .target_btf_id = leader < 0 ? 0 : (uint32_t)leader);
    int link = bpf_link_create(program, (int)place->ifindex, attach_type(place), &options);
    if (link < 0)
        return link;
    *ret_link = link;
    return 0;
}

int tcx_swap(int link, int program)
{
    return bpf_link_update(link, program, NULL);
}

/* A foreign program, by its name where we have permission to read it (CAP_SYS_ADMIN). */
static void name_program(uint32_t id, char buffer[static 64])
{
    struct bpf_prog_info info = { 0 };
    uint32_t size = sizeof(info);
    AUTOCLOSE int program = bpf_prog_get_fd_by_id(id);
    if (program >= 0 && bpf_obj_get_info_by_fd(program, &info, &size) == 0 && *info.name)
        (void)snprintf(buffer, 64, "program %u (%.16s)", id, info.name);
    else
        (void)snprintf(buffer, 64, "program %u", id);
}

/* Finds our program in the kernel's list, which has the order in which programs run. That of
 * `leader` may be before it. */
static void find_listed(const struct nat_place *place, uint32_t program, uint32_t leader,
                        struct nat_place_state *state)
{
    uint32_t ids[PROGRAMS_MAX], count = PROGRAMS_MAX, at = 0;
    if (bpf_prog_query((int)place->ifindex, attach_type(place), 0, NULL, ids, &count) < 0)
        return;
    while (at < count && ids[at] != program)
        at++;
    if (at == count)
        return;
    state->program = program;
    for (uint32_t i = 0; i < at && !state->behind; i++) {
        if (ids[i] == leader)
            continue;
        state->behind = true;
        name_program(ids[i], state->before);
    }
}

/* The kernel returns interface and attach type in the fields that struct bpf_link_info has for a
 * netns link. */
void tcx_look(int link, const struct nat_place *place, uint32_t leader,
              struct nat_place_state *ret_state)
{
    struct bpf_link_info info = { 0 };
    uint32_t size = sizeof(info);
    *ret_state = (struct nat_place_state){ 0 };
    if (bpf_obj_get_info_by_fd(link, &info, &size) == 0 && info.type == LINK_TYPE_TCX &&
        info.netns.netns_ino == place->ifindex && info.netns.attach_type == attach_type(place))
        find_listed(place, info.prog_id, leader, ret_state);
}

uint32_t tcx_program(int link, const struct nat_place *place)
{
    struct nat_place_state state;
    tcx_look(link, place, 0, &state);
    return state.program;
}

int tcx_detach(int link)
{
    return bpf_link_detach(link);
}
