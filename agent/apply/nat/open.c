// SPDX-License-Identifier: Apache-2.0
/*
 * Opens the datapath: the programs, the maps, the twin, and then reads the maps' existing contents.
 *
 * The order makes a crash harmless: loading the live programs creates the maps, these are filled
 * from the maps they replace, and only then pinned. So every pinned map is complete. No program is
 * attached here (hooks.h does that): the programs of an earlier agent handle packets until the
 * engine attaches ours.
 *
 * Linux charges the memory of maps to the agent's control group since 5.11; RLIMIT_MEMLOCK is not
 * raised.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/hooks/programs.h"
#include "apply/nat/maps/maps.h"
#include "apply/nat/services/adopt.h"
#include "base/text.h"

static struct nat_datapath *datapath_new(const struct nat_datapath_options *options)
{
    CLEANUP(nat_datapath_closep) struct nat_datapath *datapath = calloc(1, sizeof(*datapath));
    if (!datapath)
        return NULL;
    for (int i = 0; i < NAT_MAP_COUNT; i++)
        datapath->maps[i].fd = datapath->maps[i].old_fd = -1;
    if (options->pins) {
        datapath->root = strdup(options->pins);
        datapath->pins = text_format("%s/%d", options->pins, NAT_LAYOUT);
        if (!datapath->root || !datapath->pins)
            return NULL;
    }
    return TAKE_PTR(datapath);
}

static int load(struct nat_datapath *datapath, const struct nat_datapath_options *options,
                struct faults *faults)
{
    int r = nat_programs_open(&datapath->live);
    if (r < 0)
        return r;
    r = nat_maps_prepare(datapath, options, faults);
    if (r < 0)
        return r;
    r = nat_programs_load(datapath->live, NAT_PROGRAMS_LIVE, faults);
    if (r < 0)
        return r;
    return nat_maps_finish(datapath, faults);
}

static int load_twin(struct nat_datapath *datapath, struct faults *faults)
{
    int r = nat_programs_open(&datapath->twin);
    if (r < 0)
        return r;
    r = nat_maps_share(datapath, datapath->twin);
    if (r < 0)
        return r;
    return nat_programs_load(datapath->twin, NAT_PROGRAMS_TWIN, faults);
}

int nat_datapath_open(const struct nat_datapath_options *options,
                      struct nat_datapath **ret_datapath, struct faults *faults)
{
    nat_programs_hear();
    CLEANUP(nat_datapath_closep) struct nat_datapath *datapath = datapath_new(options);
    if (!datapath)
        return -ENOMEM;
    int r = load(datapath, options, faults);
    if (r < 0)
        return r;
    r = load_twin(datapath, faults);
    if (r < 0)
        return r;
    r = nat_adopt(datapath);
    if (r < 0)
        return r;
    *ret_datapath = TAKE_PTR(datapath);
    return 0;
}

/* The details are logged: the fault of the interface only reports that it is not served. */
static int load_l3(struct nat_datapath *datapath)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(nat_programs_closep) struct nat_programs *programs = NULL;
    int r = nat_programs_open(&programs);
    if (r < 0)
        return r;
    r = nat_maps_share(datapath, programs);
    if (r < 0)
        return r;
    r = nat_programs_load(programs, NAT_PROGRAMS_L3, &faults);
    if (r < 0)
        return r;
    datapath->bare = TAKE_PTR(programs);
    return 0;
}

int nat_datapath_program(struct nat_datapath *datapath, enum nat_hook hook, bool bare)
{
    if (bare && !datapath->bare && !datapath->bare_error)
        datapath->bare_error = load_l3(datapath);
    if (bare && datapath->bare_error)
        return datapath->bare_error;
    return nat_programs_fd(bare ? datapath->bare : datapath->live, hook);
}

uint32_t nat_datapath_program_id(const struct nat_datapath *datapath, enum nat_hook hook, bool bare)
{
    const struct nat_programs *programs = bare ? datapath->bare : datapath->live;
    struct bpf_prog_info info = { 0 };
    uint32_t length = sizeof(info);
    if (!programs || bpf_obj_get_info_by_fd(nat_programs_fd(programs, hook), &info, &length) < 0)
        return 0;
    return info.id;
}

void nat_datapath_close(struct nat_datapath *datapath)
{
    if (!datapath)
        return;
    nat_forget(datapath);
    vec_done(&datapath->local);
    vec_done(&datapath->unowned);
    nat_walk_done(&datapath->sweep.walk);
    nat_maps_close(datapath);
    nat_programs_close(datapath->bare);
    nat_programs_close(datapath->twin);
    nat_programs_close(datapath->live);
    free(datapath->pins);
    free(datapath->root);
    free(datapath);
}
