// SPDX-License-Identifier: Apache-2.0
/*
 * The programs of the clients' side, for who attaches them (nat/hooks/hooks.h).
 *
 * Uplinks without Ethernet headers have the guard, from an object of its own (bpf/packet/start.h):
 * it is loaded when the first such uplink is met. Pods behind such interfaces can't be clients:
 * their programs hand packets to other devices as they are.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "apply/egress/pinned.h"
#include "apply/egress/plane_inside.h"
#include "base/macro.h"
#include "bpf/egress_client.skel.h"

DEFINE_CLEANUP(struct egress_client_programs *, egress_client_programs__destroy);

static int load_bare(struct egress_plane *plane)
{
    CLEANUP(egress_client_programs__destroyp)
    struct egress_client_programs *bare = egress_client_programs__open();
    if (!bare)
        return errno ? -errno : -ENOMEM;
    bare->rodata_start->L3 = 0;
    int r = bpf_program__set_autoload(bare->progs.client_in, false);
    if (r == 0)
        r = bpf_program__set_autoload(bare->progs.client_out, false);
    if (r == 0)
        r = pinned_share(plane->programs->obj, bare->obj);
    if (r == 0)
        r = egress_client_programs__load(bare);
    if (r == 0)
        plane->bare = TAKE_PTR(bare);
    return r;
}

static int guard_fd(struct egress_plane *plane, bool bare)
{
    if (bare && !plane->bare && !plane->bare_error)
        plane->bare_error = load_bare(plane);
    if (bare && plane->bare_error)
        return plane->bare_error;
    return bpf_program__fd((bare ? plane->bare : plane->programs)->progs.client_guard);
}

int egress_plane_program(struct egress_plane *plane, enum nat_hook hook, bool bare)
{
    switch (hook) {
    case EGRESS_HOOK_CLIENT_IN:
        return bare ? -ENOTSUP : bpf_program__fd(plane->programs->progs.client_in);
    case EGRESS_HOOK_CLIENT_OUT:
        return bare ? -ENOTSUP : bpf_program__fd(plane->programs->progs.client_out);
    case EGRESS_HOOK_CLIENT_GUARD:
        return guard_fd(plane, bare);
    default:
        return -ENOENT;
    }
}

uint32_t egress_plane_program_id(struct egress_plane *plane, enum nat_hook hook, bool bare)
{
    struct bpf_prog_info info = { 0 };
    uint32_t length = sizeof(info);
    int fd = egress_plane_program(plane, hook, bare);
    return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &length) == 0 ? info.id : 0;
}
