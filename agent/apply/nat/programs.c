// SPDX-License-Identifier: Apache-2.0
/*
 * The programs. The agent contains the object file (as libbpf's skeleton) and loads it twice: once
 * for packets, and once as the twin that only answers questions.
 *
 * The kernel refuses a program with a bare error number. So that a fault can name the cause,
 * libbpf's probes then ask for each feature that the programs need and older kernels lack. The end
 * of what the verifier said goes to the log.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "apply/nat/plane_inside.h"
#include "apply/nat/programs.h"
#include "base/log.h"
#include "base/macro.h"
#include "bpf/nat.skel.h"

static const char *const hook_programs[NAT_HOOKS] = {
    [NAT_HOOK_UPLINK_IN] = "uplink_in", [NAT_HOOK_UPLINK_OUT] = "uplink_out",
    [NAT_HOOK_POD_IN] = "pod_in",       [NAT_HOOK_POD_OUT] = "pod_out",
    [NAT_HOOK_LO_OUT] = "lo_out",       [NAT_HOOK_SVC_OUT] = "svc_out",
};

/* What libbpf says while it loads, with the output of the verifier. It hands us no context, so
 * there is one buffer for the process. */
static struct {
    bool wanted;
    struct text text;
} words;

static int hear_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
    if (words.wanted && level != LIBBPF_DEBUG)
        text_vaddf(&words.text, format, args);
    return 0;
}

void nat_programs_hear(void)
{
    (void)libbpf_set_print(hear_libbpf);
}

/* The verifier prints every step; the one that it refused is at the end. */
static void log_last_words(void)
{
    enum { LINES = 20 };
    const char *line = text_str(&words.text), *end;
    size_t left = 0;

    for (const char *c = line; *c; c++)
        left += *c == '\n';
    for (; (end = strchr(line, '\n')); line = end + 1, left--) {
        if (left <= LINES)
            log_warning("%.*s", (int)(end - line), line);
    }
}

static int load(struct nat_programs *programs)
{
    words.wanted = true;
    int r = nat_programs__load(programs);
    words.wanted = false;
    if (r < 0)
        log_last_words();
    text_done(&words.text);
    return r;
}

int nat_programs_open(struct nat_programs **ret_programs)
{
    struct nat_programs *programs = nat_programs__open();
    if (!programs)
        return errno ? -errno : -ENOMEM;
    *ret_programs = programs;
    return 0;
}

void nat_programs_close(struct nat_programs *programs)
{
    nat_programs__destroy(programs);
}

struct bpf_map *nat_programs_map(const struct nat_programs *programs, const char *name)
{
    return bpf_object__find_map_by_name(programs->obj, name);
}

/* The first of the needed features that this kernel lacks; NULL: it has them all. */
static const char *lacking(void)
{
    static const struct {
        enum bpf_map_type type;
        const char *name;
    } maps[] = {
        { BPF_MAP_TYPE_ARRAY, "BPF arrays" },
        { BPF_MAP_TYPE_HASH, "BPF hash tables" },
        { BPF_MAP_TYPE_LRU_HASH, "BPF hash tables that drop what is oldest (Linux 4.10)" },
        { BPF_MAP_TYPE_LPM_TRIE, "BPF tries of prefixes (Linux 4.11)" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
        if (libbpf_probe_bpf_map_type(maps[i].type, NULL) == 0)
            return maps[i].name;
    }
    if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SCHED_CLS, NULL) == 0)
        return "BPF programs at tc (CONFIG_NET_CLS_BPF)";

    static const struct {
        enum bpf_func_id helper;
        const char *name;
    } helpers[] = {
        { BPF_FUNC_fib_lookup, "bpf_fib_lookup() (Linux 4.18)" },
        { BPF_FUNC_redirect_neigh, "bpf_redirect_neigh() (Linux 5.10)" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(helpers); i++) {
        if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS, helpers[i].helper, NULL) == 0)
            return helpers[i].name;
    }
    return NULL;
}

static void explain(int error, struct faults *faults)
{
    if (error == -EPERM || error == -EACCES) {
        /* Some programs the verifier accepts with CAP_PERFMON only; without it it says EACCES. */
        faults_add(faults, "service NAT",
                   NAT_CAPABILITIES_REMEDY "; if it has them, the kernel's words are in the log",
                   "the kernel does not let us load BPF programs: %s", strerror(-error));
        return;
    }
    const char *name = error == -ENOMEM ? NULL : lacking();
    if (error == -ENOMEM) {
        faults_add(faults, "service NAT", "lower services.maps, or give the agent more memory",
                   "no memory for BPF maps and programs");
    } else if (name) {
        faults_add(faults, "service NAT", "use a kernel that has it", "this kernel has no %s",
                   name);
    } else {
        faults_add(faults, "service NAT", "the kernel's words are in the log",
                   "the kernel refuses the BPF programs: %s", strerror(-error));
    }
}

/* The programs where packets leave decide nothing that the twin is asked, so it needs no verified
 * copy of them. */
static int leave_out_exits(struct nat_programs *programs)
{
    int r = bpf_program__set_autoload(programs->progs.uplink_out, false);
    return r < 0 ? r : bpf_program__set_autoload(programs->progs.pod_out, false);
}

int nat_programs_load(struct nat_programs *programs, bool dry_run, struct faults *faults)
{
    int processors = libbpf_num_possible_cpus();
    programs->rodata_twin->dry_run = dry_run;
    programs->rodata_counters->stripes_are_shared =
        processors < 0 || processors > NAT_COUNTER_STRIPES;
    int r = dry_run ? leave_out_exits(programs) : 0;
    if (r < 0) {
        explain(r, faults);
        return r;
    }
    r = load(programs);
    if (r < 0)
        explain(r, faults);
    return r;
}

static int program_fd(const struct nat_programs *programs, enum nat_hook hook)
{
    return bpf_program__fd(bpf_object__find_program_by_name(programs->obj, hook_programs[hook]));
}

int nat_plane_program(const struct nat_plane *plane, enum nat_hook hook)
{
    return program_fd(plane->live, hook);
}

int nat_plane_twin(const struct nat_plane *plane, enum nat_hook hook)
{
    return program_fd(plane->twin, hook);
}

uint32_t nat_plane_program_id(const struct nat_plane *plane, enum nat_hook hook)
{
    struct bpf_prog_info info = { 0 };
    uint32_t length = sizeof(info);
    if (bpf_obj_get_info_by_fd(nat_plane_program(plane, hook), &info, &length) < 0)
        return 0;
    return info.id;
}
