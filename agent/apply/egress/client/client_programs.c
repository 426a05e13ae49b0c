// SPDX-License-Identifier: Apache-2.0
/*
 * The programs of the clients' side, for attaching them (nat/hooks/hooks.h).
 *
 * Uplinks without Ethernet headers have the guard, from an object of its own (bpf/packet/start.h):
 * it is loaded for the first such uplink. Pods behind such interfaces can't be clients: their
 * programs hand packets to other devices unchanged.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "apply/egress/datapath_inside.h"
#include "apply/egress/pinned.h"
#include "base/macro.h"
#include "bpf/egress_client.skel.h"

DEFINE_CLEANUP(struct egress_client_programs *, egress_client_programs__destroy);

static int load_l3(struct egress_datapath *datapath)
{
    CLEANUP(egress_client_programs__destroyp)
    struct egress_client_programs *bare = egress_client_programs__open();
    if (!bare)
        return errno ? -errno : -ENOMEM;
    bare->rodata_start->L3 = 0;
    int r = bpf_program__set_autoload(bare->progs.client_in, false);
    if (r < 0)
        return r;
    r = bpf_program__set_autoload(bare->progs.client_out, false);
    if (r < 0)
        return r;
    r = pinned_share(datapath->programs->obj, bare->obj);
    if (r < 0)
        return r;
    r = egress_client_programs__load(bare);
    if (r < 0)
        return r;
    datapath->bare = TAKE_PTR(bare);
    return 0;
}

static int guard_fd(struct egress_datapath *datapath, bool bare)
{
    if (bare && !datapath->bare && !datapath->bare_error)
        datapath->bare_error = load_l3(datapath);
    if (bare && datapath->bare_error)
        return datapath->bare_error;
    return bpf_program__fd((bare ? datapath->bare : datapath->programs)->progs.client_guard);
}

int egress_datapath_program(struct egress_datapath *datapath, enum nat_hook hook, bool bare)
{
    switch (hook) {
    case EGRESS_HOOK_CLIENT_IN:
        return bare ? -ENOTSUP : bpf_program__fd(datapath->programs->progs.client_in);
    case EGRESS_HOOK_CLIENT_OUT:
        return bare ? -ENOTSUP : bpf_program__fd(datapath->programs->progs.client_out);
    case EGRESS_HOOK_CLIENT_GUARD:
        return guard_fd(datapath, bare);
    default:
        return -ENOENT;
    }
}

uint32_t egress_datapath_program_id(struct egress_datapath *datapath, enum nat_hook hook, bool bare)
{
    struct bpf_prog_info info = { 0 };
    uint32_t length = sizeof(info);
    int fd = egress_datapath_program(datapath, hook, bare);
    return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &length) == 0 ? info.id : 0;
}
