/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs as libbpf has them: opened, sized by maps.c, loaded, and asked for their
 * descriptors. Nothing here knows the maps but by their names.
 */
#pragma once

#include <stdbool.h>

#include "apply/nat/datapath.h"

struct nat_programs; /* of bpf/nat.skel.h */

#define NAT_CAPABILITIES_REMEDY "give the agent CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"

/* Keeps libbpf from writing to standard error. What it says of a refused program is logged. */
void nat_programs_hear(void);

/* Reads the object that the agent contains; nothing is loaded yet. Returns 0 or -errno. */
int nat_programs_open(struct nat_programs **ret_programs);

enum nat_programs_use {
    NAT_PROGRAMS_LIVE,
    NAT_PROGRAMS_TWIN, /* answers and changes nothing (bpf/abi.h) */
    NAT_PROGRAMS_L3,   /* live, for interfaces without an Ethernet header (bpf/packet/start.h) */
};

/*
 * Loads the programs that this use has, and creates the maps that they do not share. Returns 0, or
 * -errno with a fault that names what the kernel lacks.
 */
int nat_programs_load(struct nat_programs *programs, enum nat_programs_use use,
                      struct faults *faults);
void nat_programs_close(struct nat_programs *programs);
DEFINE_CLEANUP(struct nat_programs *, nat_programs_close);

/* The map of this name as bpf/service/maps.h declares it. Borrowed; NULL: there is none. */
struct bpf_map *nat_programs_map(const struct nat_programs *programs, const char *name);

/* The descriptor of a hook's program; negative if it was left out. Borrowed. */
int nat_programs_fd(const struct nat_programs *programs, enum nat_hook hook);

/*
 * The descriptor of the twin's program for a hook, for BPF_PROG_TEST_RUN. Borrowed. Negative for
 * the hooks where packets leave: the twin does not have those programs.
 */
int nat_datapath_twin(const struct nat_datapath *datapath, enum nat_hook hook);
