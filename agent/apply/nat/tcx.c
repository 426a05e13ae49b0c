// SPDX-License-Identifier: Apache-2.0
/*
 * TCX links (Linux 6.6). The numbers of their types are repeated here, because the headers and
 * libbpf of the oldest system that the agent is built on do not know them; that libbpf passes them
 * on to the kernel all the same.
 *
 * A link dies with its device. Its pin stays, and opens a link of interface 0 from then on; the
 * interface's index may belong to another device by now, or the link to another network namespace.
 * So a link counts as attached only if the kernel lists its program in the place in question.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>

#include "apply/nat/tcx.h"

enum {
    TCX_INGRESS = 46, /* enum bpf_attach_type */
    TCX_EGRESS = 47,
    LINK_TYPE_TCX = 11, /* enum bpf_link_type */
    LOOPBACK_IFINDEX = 1,
    PROGRAMS_MAX = 64, /* on one hook: the kernel's own limit */
};

static enum bpf_attach_type attach_type(const struct nat_place *place)
{
    return (enum bpf_attach_type)(place->direction == NAT_INGRESS ? TCX_INGRESS : TCX_EGRESS);
}

bool tcx_supported(void)
{
    const struct nat_place loopback = { LOOPBACK_IFINDEX, NAT_INGRESS };
    uint32_t count = 0;
    return bpf_prog_query(LOOPBACK_IFINDEX, attach_type(&loopback), 0, NULL, NULL, &count) == 0;
}

int tcx_attach(const struct nat_place *place, int program, int *ret_link)
{
    int link = bpf_link_create(program, (int)place->ifindex, attach_type(place), NULL);
    if (link < 0)
        return link;
    *ret_link = link;
    return 0;
}

int tcx_swap(int link, int program)
{
    return bpf_link_update(link, program, NULL);
}

static bool is_listed(const struct nat_place *place, uint32_t program_id)
{
    uint32_t ids[PROGRAMS_MAX], count = PROGRAMS_MAX;
    if (bpf_prog_query((int)place->ifindex, attach_type(place), 0, NULL, ids, &count) < 0)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] == program_id)
            return true;
    }
    return false;
}

/* The kernel puts interface and attach type where struct bpf_link_info has those of a netns link.
 */
uint32_t tcx_program(int link, const struct nat_place *place)
{
    struct bpf_link_info info = { 0 };
    uint32_t size = sizeof(info);
    if (bpf_obj_get_info_by_fd(link, &info, &size) < 0 || info.type != LINK_TYPE_TCX ||
        info.netns.netns_ino != place->ifindex || info.netns.attach_type != attach_type(place))
        return 0;
    return is_listed(place, info.prog_id) ? info.prog_id : 0;
}

int tcx_detach(int link)
{
    return bpf_link_detach(link);
}
