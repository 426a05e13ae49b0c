/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data plane of service NAT: pinned maps and programs, and the hand that writes the maps.
 *
 * What stands in the maps outlives the agent. Opening adopts what is pinned (names, ids, rows), so
 * that the first pass writes the difference only. All that an operator can ask for is read from the
 * live maps, never from memory of what was written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/ip.h"
#include "base/text.h"
#include "bpf/abi.h"
#include "plan/nat_table.h"
#include "status/nat_status.h"

struct nat_plane;

struct nat_plane_options {
    const char *pins; /* paths.bpf: on a bpf file system; NULL: nothing is pinned (tests) */
    uint32_t max_flows, max_services, max_endpoints; /* services.maps */
};

/*
 * Loads the programs and the twin, opens or makes the maps. Maps of another size or layout are
 * replaced, flows and affinity copied over. What is lacking (capability, kernel feature, bpffs) is
 * a fault by name. Returns 0 or -errno.
 */
int nat_plane_open(const struct nat_plane_options *options, struct nat_plane **ret_plane,
                   struct faults *faults);
/* Everything that is pinned stays. */
void nat_plane_close(struct nat_plane *plane);
DEFINE_CLEANUP(struct nat_plane *, nat_plane_close);

/*
 * Once the hooks hold the live programs: flows that the old ones have entered in maps that were
 * replaced since are copied, and these maps let go. Returns 0 or -errno.
 */
int nat_plane_settle(struct nat_plane *plane);

/* The control map. Faults: more networks than NAT_MAX_*. Returns 0 or -errno. */
int nat_plane_set(struct nat_plane *plane, const struct nat_settings *settings,
                  struct faults *faults);
/* svc0, by its index and MAC; 0: there is none. */
int nat_plane_set_svc0(struct nat_plane *plane, uint32_t ifindex, const uint8_t mac[6]);
/* The kernel's ICMP rate limits (icmp_ratelimit, icmp_ratemask), read again. */
int nat_plane_read_limits(struct nat_plane *plane);
/*
 * This node's own addresses, sorted: endpoints on them are delivered here. To be said before the
 * first write, which else finds what an earlier process wrote to differ.
 */
int nat_plane_set_local(struct nat_plane *plane, const struct ip *addresses, size_t count);

/* The source address of what leaves an interface masqueraded. IP_NONE: none of that family. */
int nat_plane_set_interface(struct nat_plane *plane, uint32_t ifindex, const struct ip *v4,
                            const struct ip *v6);
int nat_plane_remove_interface(struct nat_plane *plane, uint32_t ifindex);

/*
 * Makes the maps say what the row says, by difference: the Service switches as a whole. Returns 1
 * if something was written, 0 if all stood already, -errno (-ENOSPC: a map is full, named in a
 * fault; the Service is then as it was).
 */
int nat_plane_write(struct nat_plane *plane, const struct nat_row *row, struct faults *faults);
/* Takes a Service out: its UDP flows are dead, TCP flows go on. Returns 1, 0 (not there), -errno.
 */
int nat_plane_remove(struct nat_plane *plane, const char *namespace, const char *name);

/*
 * Somebody may have changed hash tables behind our back: the next write of each Service asks them
 * for what is remembered of it. Costs some system calls a Service then.
 */
void nat_plane_doubt(struct nat_plane *plane);

/*
 * Calls `each` with every Service in the maps, in no order; anything but 0 ends the walk. It may
 * remove the Service that it is called with.
 */
int nat_plane_each_service(struct nat_plane *plane,
                           int (*each)(const char *namespace, const char *name, void *context),
                           void *context);

/*
 * Where the live maps differ from what the rows ask for. `rows`: struct nat_row *, sorted. Returns
 * 0 or -errno.
 */
int nat_plane_verify(struct nat_plane *plane, const struct sorted *rows, nat_difference_list *list);
/* The same for one Service only. */
int nat_plane_verify_row(struct nat_plane *plane, const struct nat_row *row,
                         nat_difference_list *list);

/* The program of a hook: its descriptor for attaching. Borrowed. */
int nat_plane_program(const struct nat_plane *plane, enum nat_hook hook);
/* The kernel's id of that program. */
uint32_t nat_plane_program_id(const struct nat_plane *plane, enum nat_hook hook);

/* ---- questions, from the live maps ---- */

/* One packet through the twin. */
struct nat_probe {
    enum nat_hook hook;
    uint32_t ifindex;         /* the device it is seen on */
    uint32_t ingress_ifindex; /* where it came in; 0: this node made it */
    struct ip source, destination;
    uint16_t source_port, destination_port;
    enum protocol protocol;
    uint32_t pick;  /* 0: at random; n: the n-th endpoint of the set */
    bool see_flows; /* as a real packet: a flow that exists decides */
};

struct nat_answer {
    enum nat_act act;
    enum nat_cause cause;
    enum nat_masquerade masquerade;
    int route; /* 0, what bpf_fib_lookup() answered, or NAT_ROUTE_NO_SOURCE */
    uint32_t service, port, endpoint;
    enum nat_set_kind set;
    uint32_t count;                     /* endpoints of the set */
    struct nat_endpoint endpoint_value; /* the chosen one; IP_NONE: none */
};

/* Returns 0 or -errno (-ENODEV: no such interface). */
int nat_plane_probe(struct nat_plane *plane, const struct nat_probe *probe,
                    struct nat_answer *ret_answer);

/* Half of a flow: what it does with the packets of its tuple. */
struct nat_found_flow {
    enum nat_half half;
    bool established, masqueraded;
    bool stale; /* its endpoint's life is over: UDP packets do not follow it any more */
    struct nat_endpoint source, destination; /* as the packet goes on */
    uint32_t idle_s;
};
/* The flow of a probe's addresses, ports and protocol. False: there is none. */
bool nat_plane_find_flow(struct nat_plane *plane, const struct nat_probe *probe,
                         struct nat_found_flow *ret_flow);
/* "namespace/name" of a service id; "" if nobody's. The port's "namespace/name:port" words. */
int nat_plane_name(struct nat_plane *plane, uint32_t service, char buffer[static NAT_NAME_MAX]);
/* All endpoints of a set as they stand in the bank in force. Returns 0 or -ENOMEM. */
int nat_plane_set_endpoints(struct nat_plane *plane, uint32_t service, uint32_t port,
                            enum nat_set_kind set, nat_endpoint_list *ret_list);
/* family, protocol and number of a port id. False: nobody's. */
bool nat_plane_port(const struct nat_plane *plane, uint32_t port, uint8_t *ret_family,
                    enum protocol *ret_protocol, uint16_t *ret_number);

/* Counters of a Service since its id was given, all stripes. False if it is not in the maps. */
bool nat_plane_counters(struct nat_plane *plane, const char *namespace, const char *name,
                        struct nat_counter *ret_counter);

int nat_plane_refusals(struct nat_plane *plane, nat_refusal_list *ret_list);

/* Calls `each` for at most `limit` flows; anything but 0 ends the walk. Returns 0 or -errno. */
int nat_plane_each_flow(struct nat_plane *plane, size_t limit,
                        int (*each)(const struct nat_flow_view *flow, void *context),
                        void *context);

/* Fills one entry a map; returns how many. Of hash tables the entries are counted by walking. */
size_t nat_plane_maps(struct nat_plane *plane, struct nat_map_use use[static NAT_MAP_COUNT]);

/*
 * One slice of the sweep over "flows": ends what is over or dead. `ret_next_ms`: after how long to
 * call again (short while a sweep is under way, long when there are no flows). Returns the number
 * of flows that ended, or -errno.
 */
int nat_plane_sweep(struct nat_plane *plane, int64_t now_mono_ms, int64_t *ret_next_ms);

/*
 * Flows that a drain still waits for: TCP connections that their clients have not ended, of no
 * matter which service. Of many flows it is the last sweep's count.
 */
uint64_t nat_plane_established(const struct nat_plane *plane);

/* Removes everything that is pinned below `pins`. Returns the number of pins, or -errno. */
int nat_plane_unpin(const char *pins);
