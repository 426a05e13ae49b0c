// SPDX-License-Identifier: Apache-2.0
/*
 * Fragments out of order are passed to the stack (bpf/flow/fragment.h), which reassembles them only
 * while a user of netfilter requests it. Connection tracking does. So that NAT does not depend on
 * other programs' rules, the agent requests it, by a BPF link to netfilter (Linux 6.6): a program
 * at prerouting that accepts every packet, and the link's flag for defragmentation. It costs some
 * nanoseconds per packet.
 *
 * The link is pinned, one for each family, and belongs to the network namespace in which it was
 * created. It needs neither map nor program of NAT. `agentctl cleanup` removes it with all other
 * pins.
 *
 * The numbers are repeated here, because the headers and libbpf of the oldest supported build
 * system do not have them.
 */
#include "apply/nat/host/defrag.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/text.h"

enum {
    PROGRAM_NETFILTER = 32, /* enum bpf_prog_type */
    ATTACH_NETFILTER = 45,  /* enum bpf_attach_type */
    LINK_DEFRAGMENT = 1,    /* BPF_F_NETFILTER_IP_DEFRAG */
    PRE_ROUTING = 0,
    ACCEPT = 1,
    /* After defragmentation itself (-400) and the table "raw" (-300): it need not be early. */
    PRIORITY = -290,
};

/* The part of union bpf_attr for BPF_LINK_CREATE. */
struct netfilter_link {
    uint32_t program, target, attach_type, flags;
    uint32_t family, hook;
    int32_t priority;
    uint32_t link_flags;
};

static int load_accept(void)
{
    const struct bpf_insn program[] = {
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = ACCEPT },
        { .code = BPF_JMP | BPF_EXIT },
    };
    const enum bpf_attach_type hook = (enum bpf_attach_type)ATTACH_NETFILTER;
    LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = hook);
    return bpf_prog_load((enum bpf_prog_type)PROGRAM_NETFILTER, "defragment", "Dual BSD/GPL",
                         program, ARRAY_SIZE(program), &options);
}

static int make_link(int program, enum ip_family family)
{
    struct netfilter_link link = {
        .program = (uint32_t)program,
        .attach_type = ATTACH_NETFILTER,
        .family = family == IP_V4 ? 2 : 10, /* NFPROTO_ */
        .hook = PRE_ROUTING,
        .priority = PRIORITY,
        .link_flags = LINK_DEFRAGMENT,
    };
    int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));
    return fd < 0 ? -errno : fd;
}

int nat_defrag_ensure(const char *pins, enum ip_family family)
{
    AUTOFREE char *path =
        text_format("%s/" NAT_DEFRAG_PIN "%s", pins, family == IP_V4 ? "ipv4" : "ipv6");
    if (!path)
        return -ENOMEM;
    if (access(path, F_OK) == 0)
        return 0;
    AUTOCLOSE int program = load_accept();
    if (program < 0)
        return program;
    AUTOCLOSE int link = make_link(program, family);
    return link < 0 ? link : bpf_obj_pin(link, path);
}
