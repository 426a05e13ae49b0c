/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs as libbpf objects: opened, sized by maps.c, and loaded; their descriptors. This
 * file refers to maps only by name.
 */
#pragma once

#include <stdbool.h>

#include "apply/nat/datapath.h"

struct nat_programs; /* of bpf/nat.skel.h */

#define NAT_CAPABILITIES_REMEDY "give the agent CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"

/* Keeps libbpf from writing to standard error. Its messages about a rejected program are logged. */
void nat_programs_hear(void);

/* Reads the object that the agent contains; nothing is loaded yet. Returns 0 or -errno. */
int nat_programs_open(struct nat_programs **ret_programs);

enum nat_programs_use {
    NAT_PROGRAMS_LIVE,
    NAT_PROGRAMS_TWIN, /* returns verdicts and changes nothing (bpf/abi.h) */
    NAT_PROGRAMS_L3,   /* live, for interfaces without an Ethernet header (bpf/packet/start.h) */
};

/*
 * Loads the programs of this use, and creates the maps that they do not share. Returns 0, or -errno
 * with a fault that names what the kernel lacks.
 */
int nat_programs_load(struct nat_programs *programs, enum nat_programs_use use,
                      struct faults *faults);
void nat_programs_close(struct nat_programs *programs);
DEFINE_CLEANUP(struct nat_programs *, nat_programs_close);

/* The map of this name as bpf/service/maps.h declares it. Borrowed; NULL: there is none. */
struct bpf_map *nat_programs_map(const struct nat_programs *programs, const char *name);

/* The descriptor of a hook's program, borrowed; negative if the program was left out. */
int nat_programs_fd(const struct nat_programs *programs, enum nat_hook hook);

/*
 * The descriptor of the twin's program for a hook, for BPF_PROG_TEST_RUN. Borrowed. Negative for
 * the hooks on egress: the twin does not have those programs.
 */
int nat_datapath_twin(const struct nat_datapath *datapath, enum nat_hook hook);
