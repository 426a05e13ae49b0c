// SPDX-License-Identifier: Apache-2.0
/*
 * The programs. The agent contains the object file (as libbpf's skeleton) and loads it twice: once
 * for packets, and once as the twin, which only answers probes. A node with an interface without
 * Ethernet headers loads it a third time, when that interface is first found: the kernel takes a
 * while to verify the programs, and other nodes need not wait for that.
 *
 * The kernel rejects a program with only an error number. So that a fault can name the cause,
 * libbpf's probes then check each feature that the programs need and older kernels lack. The end of
 * the verifier's log is written to the journal.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "apply/nat/datapath_inside.h"
#include "apply/nat/hooks/programs.h"
#include "base/log.h"
#include "base/macro.h"
#include "bpf/nat.skel.h"
#include "faults/nat.h"
#include "faults/raise.h"

static const char *const hook_programs[NAT_HOOKS] = {
    [NAT_HOOK_UPLINK_IN] = "uplink_in", [NAT_HOOK_UPLINK_OUT] = "uplink_out",
    [NAT_HOOK_POD_IN] = "pod_in",       [NAT_HOOK_POD_OUT] = "pod_out",
    [NAT_HOOK_LO_OUT] = "lo_out",       [NAT_HOOK_SVC_OUT] = "svc_out",
};

/* libbpf's messages while it loads, with the verifier's log. libbpf passes no context, so there
 * is one buffer for the process. */
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

/* The verifier prints every instruction; the rejected one is at the end. */
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

/* The first of the needed features that this kernel lacks; NULL: it has all of them. */
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
        /* The verifier accepts some programs only with CAP_PERFMON; without it, it returns
         * EACCES. */
        fault_raise(faults, "service NAT", nat_programs_forbidden, .reason = strerror(-error));
        return;
    }
    const char *name = error == -ENOMEM ? NULL : lacking();
    if (error == -ENOMEM) {
        fault_raise(faults, "service NAT", nat_programs_memoryless);
    } else if (name) {
        fault_raise(faults, "service NAT", nat_kernel_lacks_helper, .helper = name);
    } else {
        fault_raise(faults, "service NAT", nat_programs_refused, .reason = strerror(-error));
    }
}

/*
 * Programs that are not needed are not loaded, so the kernel need not verify them. The twin is
 * never run for egress, where no verdict is decided; lo and svc0 have Ethernet headers.
 */
static int leave_out(struct nat_programs *programs, enum nat_programs_use use)
{
    struct bpf_program *const exits[] = { programs->progs.uplink_out, programs->progs.pod_out };
    struct bpf_program *const own[] = { programs->progs.lo_out, programs->progs.svc_out };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(exits); i++) {
        if (use == NAT_PROGRAMS_TWIN)
            r = bpf_program__set_autoload(exits[i], false);
        else if (use == NAT_PROGRAMS_L3)
            r = bpf_program__set_autoload(own[i], false);
    }
    return r;
}

int nat_programs_load(struct nat_programs *programs, enum nat_programs_use use,
                      struct faults *faults)
{
    int processors = libbpf_num_possible_cpus();
    programs->rodata_twin->dry_run = use == NAT_PROGRAMS_TWIN;
    programs->rodata_counters->stripes_are_shared =
        processors < 0 || processors > NAT_COUNTER_STRIPES;
    programs->rodata_filter->filter_words =
        bpf_map__value_size(programs->maps.filter) / sizeof(__u64) / 2;
    if (use == NAT_PROGRAMS_L3)
        programs->rodata_start->L3 = 0;
    int r = leave_out(programs, use);
    if (r < 0) {
        explain(r, faults);
        return r;
    }
    r = load(programs);
    if (r < 0)
        explain(r, faults);
    return r;
}

int nat_programs_fd(const struct nat_programs *programs, enum nat_hook hook)
{
    return bpf_program__fd(bpf_object__find_program_by_name(programs->obj, hook_programs[hook]));
}

int nat_datapath_twin(const struct nat_datapath *datapath, enum nat_hook hook)
{
    return nat_programs_fd(datapath->twin, hook);
}
