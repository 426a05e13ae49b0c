// SPDX-License-Identifier: Apache-2.0
/*
 * Opening the plane: the programs, the maps, the twin, and then what the maps contain already.
 *
 * The order makes a crash harmless: loading the live programs creates the maps, these are filled
 * from the maps they replace, and only then pinned. So whatever is pinned is complete. Nothing is
 * attached here (hooks.h does that): packets go through the programs of an earlier agent until
 * the engine attaches ours.
 *
 * Linux charges the memory of maps to the agent's control group since 5.11; RLIMIT_MEMLOCK is not
 * raised.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/hooks/programs.h"
#include "apply/nat/maps/maps.h"
#include "apply/nat/plane_inside.h"
#include "apply/nat/services/adopt.h"
#include "base/text.h"

static struct nat_plane *plane_new(const struct nat_plane_options *options)
{
    CLEANUP(nat_plane_closep) struct nat_plane *plane = calloc(1, sizeof(*plane));
    if (!plane)
        return NULL;
    for (int i = 0; i < NAT_MAP_COUNT; i++)
        plane->maps[i].fd = plane->maps[i].old_fd = -1;
    if (options->pins) {
        plane->root = strdup(options->pins);
        plane->pins = text_format("%s/%d", options->pins, NAT_LAYOUT);
        if (!plane->root || !plane->pins)
            return NULL;
    }
    return TAKE_PTR(plane);
}

static int load(struct nat_plane *plane, const struct nat_plane_options *options,
                struct faults *faults)
{
    int r = nat_programs_open(&plane->live);
    if (r < 0)
        return r;
    r = nat_maps_prepare(plane, options, faults);
    if (r < 0)
        return r;
    r = nat_programs_load(plane->live, NAT_PROGRAMS_LIVE, faults);
    if (r < 0)
        return r;
    return nat_maps_finish(plane, faults);
}

static int load_twin(struct nat_plane *plane, struct faults *faults)
{
    int r = nat_programs_open(&plane->twin);
    if (r < 0)
        return r;
    r = nat_maps_share(plane, plane->twin);
    if (r < 0)
        return r;
    return nat_programs_load(plane->twin, NAT_PROGRAMS_TWIN, faults);
}

int nat_plane_open(const struct nat_plane_options *options, struct nat_plane **ret_plane,
                   struct faults *faults)
{
    nat_programs_hear();
    CLEANUP(nat_plane_closep) struct nat_plane *plane = plane_new(options);
    if (!plane)
        return -ENOMEM;
    int r = load(plane, options, faults);
    if (r < 0)
        return r;
    r = load_twin(plane, faults);
    if (r < 0)
        return r;
    r = nat_adopt(plane);
    if (r < 0)
        return r;
    *ret_plane = TAKE_PTR(plane);
    return 0;
}

/* What is wrong goes to the log: the interface's own fault says that it is not served. */
static int load_bare(struct nat_plane *plane)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(nat_programs_closep) struct nat_programs *programs = NULL;
    int r = nat_programs_open(&programs);
    if (r == 0)
        r = nat_maps_share(plane, programs);
    if (r == 0)
        r = nat_programs_load(programs, NAT_PROGRAMS_BARE, &faults);
    if (r == 0)
        plane->bare = TAKE_PTR(programs);
    return r;
}

int nat_plane_program(struct nat_plane *plane, enum nat_hook hook, bool bare)
{
    if (bare && !plane->bare && !plane->bare_error)
        plane->bare_error = load_bare(plane);
    if (bare && plane->bare_error)
        return plane->bare_error;
    return nat_programs_fd(bare ? plane->bare : plane->live, hook);
}

uint32_t nat_plane_program_id(const struct nat_plane *plane, enum nat_hook hook, bool bare)
{
    const struct nat_programs *programs = bare ? plane->bare : plane->live;
    struct bpf_prog_info info = { 0 };
    uint32_t length = sizeof(info);
    if (!programs || bpf_obj_get_info_by_fd(nat_programs_fd(programs, hook), &info, &length) < 0)
        return 0;
    return info.id;
}

void nat_plane_close(struct nat_plane *plane)
{
    if (!plane)
        return;
    nat_forget(plane);
    vec_done(&plane->local);
    vec_done(&plane->unowned);
    nat_walk_done(&plane->sweep.walk);
    nat_maps_close(plane);
    nat_programs_close(plane->bare);
    nat_programs_close(plane->twin);
    nat_programs_close(plane->live);
    free(plane->pins);
    free(plane->root);
    free(plane);
}
