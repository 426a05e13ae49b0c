// SPDX-License-Identifier: Apache-2.0
/*
 * Whether the host forwards a packet: one is sent through the stack, and caught where it leaves.
 * engine/nat/host/nat_firewall.c chooses the path.
 *
 * The twin (probe.c) checks our programs and the kernel's routes; netfilter between them can only
 * be checked with a packet, since its rules may match anything. bpf_clone_redirect() puts the
 * packet into the ingress of an uplink, already translated, as if our program there had processed
 * it: prerouting, forwarding and postrouting see the same as for a client's packet. The receiver
 * never gets it: before it is sent, a program that drops it is attached to the exit, and detached
 * afterwards, all within one call. What remains is an entry of connection tracking, always the same
 * one for one source port, for the two minutes that the kernel keeps a SYN without a reply, or half
 * a minute. A reply is sent in the other direction, from where the previous packet left; rules that
 * match connection tracking then see the second packet of a connection.
 *
 * The kernel processes the packet when BPF_PROG_TEST_RUN enables softirqs again, that is, before
 * the system call ends; it takes longer with another CPU's backlog, or a neighbour to be resolved.
 *
 * The catch is a TCX link that ends with its descriptor. Before Linux 6.6 it is a filter after
 * those of our other layers; a filter that a killed agent leaves matches only a number that does
 * not occur again, and is replaced by the next catch there, or removed by `agentctl cleanup`.
 */
#include "apply/nat/proof/passage.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "apply/nat/hooks/clsact.h"
#include "apply/nat/hooks/tcx.h"
#include "apply/nat/proof/packet.h"
#include "bpf/passage.skel.h"

enum { WAITS = 2 /* milliseconds */ };

struct passage {
    struct passage_programs *programs;
    bool tcx;
};

void passage_close(struct passage *passage)
{
    if (!passage)
        return;
    passage_programs__destroy(passage->programs);
    free(passage);
}

int passage_open(struct passage **ret_passage)
{
    CLEANUP(passage_closep) struct passage *passage = calloc(1, sizeof(*passage));
    if (!passage)
        return -ENOMEM;
    passage->programs = passage_programs__open_and_load();
    if (!passage->programs)
        return errno ? -errno : -ENOMEM;
    passage->tcx = tcx_supported();
    *ret_passage = TAKE_PTR(passage);
    return 0;
}

/* `ret_link`: the descriptor that keeps it attached; -1 for a filter, which stays until it is
 * removed. */
static int attach(const struct passage *passage, struct nl_socket *socket,
                  const struct nat_place *place, int *ret_link)
{
    char text[96];
    const int program = bpf_program__fd(passage->programs->progs.passage_catch);
    *ret_link = -1;
    return passage->tcx ? tcx_attach(place, program, -1, ret_link)
                        : clsact_attach(socket, place, program, text);
}

static int send_packet(struct passage *passage, const struct passage_way *path, uint32_t sequence)
{
    const struct nat_packet packet = {
        .source = path->source,
        .destination = path->destination,
        .source_port = path->source_port,
        .destination_port = path->destination_port,
        .protocol = path->protocol,
        .sequence = sequence,
        .answered = path->answers ? ntohl(passage->programs->bss->sequence) : 0,
    };
    uint8_t data[NAT_PACKET_MAX];
    struct __sk_buff in = { .cb = { path->in, path->mark } };
    const size_t size = nat_packet_build(&packet, data);
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = data, .data_size_in = (uint32_t)size,
                .ctx_in = &in, .ctx_size_in = sizeof(in));

    if (size == 0)
        return -EINVAL;
    passage->programs->bss->sequence = htonl(sequence);
    memcpy(data, path->in_mac, sizeof(path->in_mac));
    int r =
        bpf_prog_test_run_opts(bpf_program__fd(passage->programs->progs.passage_send), &options);
    return r < 0 ? r : (int)options.retval;
}

static bool arrives(const struct passage *passage)
{
    const struct timespec millisecond = { .tv_nsec = 1000000 };
    const volatile uint32_t *arrived = &passage->programs->bss->arrived;
    for (int i = 0; i < WAITS && *arrived == 0; i++)
        (void)nanosleep(&millisecond, NULL);
    return *arrived != 0;
}

int passage_try(struct passage *passage, struct nl_socket *socket, const struct passage_way *path)
{
    const struct nat_place exit = { path->out, NAT_EGRESS, NAT_LAYER_PASSAGE };
    AUTOCLOSE int link = -1;
    uint32_t sequence = 0;

    if (getrandom(&sequence, sizeof(sequence), GRND_NONBLOCK) != sizeof(sequence) || sequence == 0)
        return -EAGAIN;
    passage->programs->bss->arrived = 0;
    int r = attach(passage, socket, &exit, &link);
    if (r < 0)
        return r;
    r = send_packet(passage, path, sequence);
    if (r == 0)
        r = arrives(passage);
    if (!passage->tcx)
        (void)clsact_detach(socket, &exit);
    return r;
}
