/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data plane of service NAT: the pinned maps, the programs, and the functions that write and
 * read them. The NAT engine opens it, writes rows and attaches the programs (hooks.h).
 *
 * The maps outlive the agent. Opening adopts pinned maps (names, ids, entries), so that the first
 * pass writes only differences. Everything shown to an operator is read from the live maps, never
 * from the agent's memory of its writes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/net/ip.h"
#include "base/text.h"
#include "bpf/flow_abi.h"
#include "plan/nat/nat_table.h"
#include "status/nat_status.h"

struct nat_datapath;

struct nat_datapath_options {
    const char *pins; /* paths.bpf: on a bpf file system; NULL: nothing is pinned (tests) */
    uint32_t max_flows, max_services, max_endpoints; /* services.maps */
};

/*
 * Loads the programs and the twin, and opens or creates the maps. A map of another size is
 * replaced, and its contents are copied. A missing capability, kernel feature or bpf file system is
 * a fault that names it. Returns 0 or -errno.
 */
int nat_datapath_open(const struct nat_datapath_options *options,
                      struct nat_datapath **ret_datapath, struct faults *faults);
/* Keeps everything that is pinned. */
void nat_datapath_close(struct nat_datapath *datapath);
DEFINE_CLEANUP(struct nat_datapath *, nat_datapath_close);

/*
 * Called once the live programs are attached: copies the flows that the old programs have added to
 * replaced maps since the datapath was opened, and closes these maps. Returns 0 or -errno.
 */
int nat_datapath_settle(struct nat_datapath *datapath);

/* Writes "control". More networks than NAT_MAX_* are a fault. Returns 0 or -errno. */
int nat_datapath_set(struct nat_datapath *datapath, const struct nat_settings *settings,
                     struct faults *faults);
/*
 * Whether new masqueraded flows go through the stack or bypass it. Existing flows stay on their
 * path. `xfrm`: the stack forwards packets from this node to remote endpoints, so that XFRM
 * policies apply to them. `judged`: netfilter must see the client's address; otherwise `xfrm` sees
 * masqueraded packets with both addresses translated.
 */
void nat_datapath_set_path(struct nat_datapath *datapath, bool stack, bool xfrm, bool judged);
/*
 * Packets that arrive for load balancer and external addresses, and with `node_ports` for node
 * ports, get these bits set in their mark before the stack sees them; 0: none.
 */
void nat_datapath_set_mark(struct nat_datapath *datapath, uint32_t mark, bool node_ports);
/* Sets the index and MAC of svc0 for the programs; index 0: there is none. Returns 0. */
int nat_datapath_set_svc0(struct nat_datapath *datapath, uint32_t ifindex, const uint8_t mac[6]);
/* Restores each pin that another program has removed; otherwise a restart would lose the map. */
void nat_datapath_keep_pins(struct nat_datapath *datapath, struct faults *faults);
/* Whether its folder is on a bpf file system, which another program may have unmounted. */
bool nat_datapath_may_pin(const struct nat_datapath *datapath);
/* Reads the kernel's ICMP rate limits (icmp_ratelimit, icmp_ratemask) again. Returns 0 or -errno.
 */
int nat_datapath_read_limits(struct nat_datapath *datapath);
/*
 * Sets this node's addresses, sorted: endpoints with one of them are delivered locally. Must be
 * called before the first write; otherwise every such endpoint of an earlier process appears to
 * differ. Returns 0 or -ENOMEM.
 */
int nat_datapath_set_local(struct nat_datapath *datapath, const struct ip *addresses, size_t count);

/* Sets the source addresses for masqueraded packets that leave by an interface (IP_NONE: none of
 * that family), and nat_interface_value.back. Returns 0 or -errno; so does its reverse. */
int nat_datapath_set_interface(struct nat_datapath *datapath, uint32_t ifindex, const struct ip *v4,
                               const struct ip *v6, uint32_t back);
int nat_datapath_remove_interface(struct nat_datapath *datapath, uint32_t ifindex);
/* Sets the tunnels that take the remote end from each packet's route: at most NAT_MAX_BY_ROUTE. */
void nat_datapath_set_by_route(struct nat_datapath *datapath, const uint32_t *tunnels,
                               size_t count);

/* Sets the number of namespaces with Services, from which each namespace's quota in the maps is
 * calculated. */
void nat_datapath_set_pod_interfaces(struct nat_datapath *datapath, uint32_t count);

/*
 * Makes the maps match the row, by difference; the Service changes atomically. Returns 1 if
 * something was written, 0 if the maps matched already, or -errno with a fault; then the Service is
 * unchanged (-ENOSPC: a map is full; -EDQUOT: a map is nearly full, and the namespace exceeds its
 * quota; the fault names the map).
 */
int nat_datapath_write(struct nat_datapath *datapath, const struct nat_row *row,
                       struct faults *faults);
/* Removes a Service: its UDP flows end, its TCP flows continue. Returns 1, 0 (there is none),
 * -errno. */
int nat_datapath_remove(struct nat_datapath *datapath, const char *namespace, const char *name);

/*
 * Marks the hash tables as possibly changed by another program: the next write of each Service
 * reads every remembered entry from them, at the cost of some system calls per Service.
 */
void nat_datapath_invalidate(struct nat_datapath *datapath);

/*
 * Calls `each` with every Service in the maps, in no order; any result but 0 ends the walk. `each`
 * may remove the Service with which it is called.
 */
int nat_datapath_each_service(struct nat_datapath *datapath,
                              int (*each)(const char *namespace, const char *name, void *context),
                              void *context);

/* The same for the Services that have entries of an address. Returns -ENODATA if the maps
 * contain no Services at all: then they prove nothing. */
int nat_datapath_each_owner(struct nat_datapath *datapath, const struct ip *ip,
                            int (*each)(const char *namespace, const char *name, void *context),
                            void *context);

/*
 * Appends every difference between the live maps and the rows (struct nat_row *, sorted). Returns 0
 * or -errno.
 */
int nat_datapath_verify(struct nat_datapath *datapath, const struct sorted *rows,
                        nat_difference_list *list);
/* The same for one Service only. */
int nat_datapath_verify_row(struct nat_datapath *datapath, const struct nat_row *row,
                            nat_difference_list *list);

/*
 * The descriptor of a hook's program, borrowed, for attaching it; or -errno. `bare`: for interfaces
 * without an Ethernet header; loads these programs at the first call.
 */
int nat_datapath_program(struct nat_datapath *datapath, enum nat_hook hook, bool bare);
/* The program's id in the kernel; 0: the kernel does not report it, or the program is not
 * loaded. */
uint32_t nat_datapath_program_id(const struct nat_datapath *datapath, enum nat_hook hook,
                                 bool bare);

/* ---- queries, answered from the live maps ---- */

/* One packet for the twin. */
struct nat_probe {
    enum nat_hook hook;
    uint32_t ifindex;         /* the interface of the hook */
    uint32_t ingress_ifindex; /* the interface by which it arrived; 0: from this node */
    struct ip source, destination;
    uint16_t source_port, destination_port;
    enum protocol protocol;
    uint32_t pick;  /* 0: at random; n: the n-th endpoint of the set */
    bool see_flows; /* an existing flow decides, as for a real packet */
    bool see_came;  /* check the interface by which the source is routed, likewise */
};

struct nat_answer {
    enum nat_act act;
    enum nat_cause cause;
    enum nat_masquerade masquerade;
    int route;    /* 0, the result of bpf_fib_lookup(), or NAT_ROUTE_* */
    uint32_t out; /* the interface by which the packet leaves; 0: none, or it is too big */
    uint32_t service, port, endpoint;
    enum nat_set_kind set;
    uint32_t count;                     /* endpoints of the set */
    struct nat_endpoint endpoint_value; /* the chosen one; IP_NONE: none */
};

/* Returns 0 or -errno (-ENODEV: no such interface). */
int nat_datapath_probe(struct nat_datapath *datapath, const struct nat_probe *probe,
                       struct nat_answer *ret_answer);

/* Half of a flow: how it translates the packets of its tuple. */
struct nat_found_flow {
    enum nat_half half;
    enum nat_state state;
    bool masqueraded;
    bool egress; /* the flow belongs to an egress gateway, not to service NAT */
    bool stale;  /* its endpoint no longer exists: UDP packets do not follow the flow */
    struct nat_endpoint source, destination; /* of the translated packet */
    uint32_t idle_s;
};
/* Finds the flow with the probe's addresses, ports and protocol. False: there is none. */
bool nat_datapath_find_flow(struct nat_datapath *datapath, const struct nat_probe *probe,
                            struct nat_found_flow *ret_flow);
/* Writes "namespace/name" of a service id, or "" if the id is not in use. Returns 0 or -errno. */
int nat_datapath_name(struct nat_datapath *datapath, uint32_t service,
                      char buffer[static NAT_NAME_MAX]);
/* All endpoints of a set, sorted, from the bank in force. Returns 0 or -ENOMEM. */
int nat_datapath_set_endpoints(struct nat_datapath *datapath, uint32_t service, uint32_t port,
                               enum nat_set_kind set, nat_endpoint_list *ret_list);
/* Family, protocol and number of a port id. False: the id is not in use. */
bool nat_datapath_port(const struct nat_datapath *datapath, uint32_t port, uint8_t *ret_family,
                       enum protocol *ret_protocol, uint16_t *ret_number);

/* Counters of a Service since its id was allocated, all stripes. False if it is not in the maps. */
bool nat_datapath_counters(struct nat_datapath *datapath, const char *namespace, const char *name,
                           struct nat_counter *ret_counter);

/* All refusals that the programs have counted. Returns 0 or -errno. */
int nat_datapath_refusals(struct nat_datapath *datapath, nat_refusal_list *ret_list);

/* Calls `each` for at most `limit` flows; anything but 0 ends the walk. Returns 0 or -errno. */
int nat_datapath_each_flow(struct nat_datapath *datapath, size_t limit,
                           int (*each)(const struct nat_flow_view *flow, void *context),
                           void *context);

/* Returns the use of each map, and the number of maps; walks the hash tables to count. */
size_t nat_datapath_maps(struct nat_datapath *datapath,
                         struct nat_map_use use[static NAT_MAP_COUNT]);

/* Whether a flow of an egress gateway has no client any more, so that the flow is over. */
typedef bool nat_clientless_judge(const struct nat_flow *flow, const void *context);
/* The flows of a gateway are in this datapath, and `judge` decides about them. NULL: there are
 * no such flows any more. */
void nat_datapath_set_clientless(struct nat_datapath *datapath, nat_clientless_judge *judge,
                                 const void *context);

/* Called by the sweep for a gateway's flows. `end` is not called for a round that fails. */
struct nat_flow_counter {
    void (*flow)(void *context, const struct nat_tuple *reply); /* once per flow: the reply half */
    void (*end)(void *context, int64_t now_ms);
};
/* NULL: no counter any more. `counter` is borrowed. */
void nat_datapath_set_counter(struct nat_datapath *datapath, const struct nat_flow_counter *counter,
                              void *context);

/*
 * One slice of the sweep over "flows", which removes flows that are over. `ret_next_ms`: the time
 * until the next call (short during a round, long when there are no flows). Returns the number of
 * flows that were removed, or -errno.
 */
int nat_datapath_sweep(struct nat_datapath *datapath, int64_t now_mono_ms, int64_t *ret_next_ms);

/*
 * Returns the number of flows for which a drain waits: TCP connections that their clients have not
 * ended, of all services, or of the egress gateway that uses this datapath. Where there are many
 * flows, this is the count of the last round of the sweep.
 */
uint64_t nat_datapath_established(const struct nat_datapath *datapath, bool of_egress);

/* The number of flows in each state that the last round of the sweep found. */
void nat_datapath_flow_states(const struct nat_datapath *datapath,
                              uint64_t ret_count[static NAT_STATES]);
/* Counts what the programs did for lack of room, since the maps were made. */
void nat_datapath_pressure(const struct nat_datapath *datapath, struct nat_pressure *ret_pressure);

/*
 * How many packets each hook has seen since the datapath was opened, on all interfaces and
 * processors. Returns 0 or -errno.
 */
int nat_datapath_seen(const struct nat_datapath *datapath, uint64_t ret_packets[static NAT_HOOKS]);

/* Removes the maps that are pinned below `pins`, of each layout. Returns their number, or -errno.
 */
int nat_datapath_unpin(const char *pins);
