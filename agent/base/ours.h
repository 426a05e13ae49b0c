/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this program owns in the kernel, and what each thing means: the one table of it.
 *
 * The planner writes by these numbers and names; the applier, BIRD's client, `agentctl cleanup` and
 * the API know by them what is ours. Everything else is foreign: it is reported, never touched.
 * birdconf/ and docs/architecture.md repeat the numbers for people and for BIRD; a unit test
 * compares them with this table.
 *
 * The export table's number is the one that a configuration can move (routes.table), so each
 * question about a route takes it as an argument.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* rtm_protocol of what we write; BIRD sees it as krt_source. Meanings: ours_protocols. */
enum route_protocol {
    ROUTE_PROTOCOL_BLOCK = 30,
    ROUTE_PROTOCOL_SERVICE = 31,
    ROUTE_PROTOCOL_DRAINING = 32,
    ROUTE_PROTOCOL_GUARD = 33,       /* routes and rules */
    ROUTE_PROTOCOL_CLASS_FIRST = 34, /* 34 + route class */
    ROUTE_PROTOCOL_CLASS_LAST = 63,
};

/* IFA_PROTO of addresses that the kernel keeps for us for a while: apply/segment/kept.h. */
enum { ADDRESS_PROTOCOL_KEPT = 31 };

enum {
    ROUTE_TABLE_EXPORT = 119, /* default of routes.table; nothing but ours belongs there */
    ROUTE_TABLE_GUARD = 120,  /* likewise */
    ROUTE_TABLE_MAIN = 254,   /* shared by all; ours are those of ROUTE_PROTOCOL_GUARD, and of
                                 ROUTE_PROTOCOL_BLOCK routes to pods, and to other nodes' blocks */
    ROUTE_TABLE_COIL = 116,   /* pods' routes of Coil's agent, and ours where pods.table says so */
    RULE_PRIORITY_GUARD = 1990,
};

/* The mark of what we made: the alias of links, the name of filters. */
#define OURS_NAME           "fingerpost"
/* The veth pair that takes the node's own packets to service addresses. */
#define SVC0_NAME           "svc0"
#define SVC0_PEER_NAME      "svc0p"
/* Our table of nftables, of family inet; all that is in it is ours. */
#define OURS_NFTABLES_TABLE OURS_NAME
/* Default of services.firewall.mark. */
enum { FIREWALL_MARK_DEFAULT = 0x1000 };
/* Default of paths.bpf. */
#define OURS_PINS "/sys/fs/bpf/fingerpost"

/* Of our filters in clsact qdiscs. */
enum { OURS_TC_PRIORITY = 33, OURS_TC_HANDLE = 1 };

/* One meaning of protocol numbers, `first` to `last`. */
struct ours_protocol {
    uint8_t first, last;
    bool exported; /* of routes in the export table; otherwise of guards, elsewhere */
    bool service;  /* it announces a service address */
    const char *meaning;
};

enum { OURS_PROTOCOLS = 5 };
extern const struct ours_protocol ours_protocols[OURS_PROTOCOLS]; /* in order, without overlap */

/* The row of a protocol number; NULL if it is none of ours. */
const struct ours_protocol *ours_protocol(uint8_t number);
/* True if routes of this protocol announce a service address: serving, draining, of any class. */
bool ours_is_service(uint8_t protocol);

/*
 * BIRD's notation for the protocol numbers of the export table: "[30..32, 34..63]". Written into
 * the buffer, which is returned.
 */
enum { OURS_SETLEN = 64 };
const char *ours_exported_set(char buffer[static OURS_SETLEN]);

/* The clients' ports of the agent's own packets, by which it asks whether a firewall drops what
 * Services forward: a question, and one that is answered. */
enum { OURS_ASKING_PORT = 50000, OURS_ANSWERED_PORT = 50001 };

/* All tables that routes of ours stand in: the export table, the guard table, main. */
enum { OURS_TABLES = 3 };
void ours_tables(uint32_t export_table, uint32_t ret_tables[static OURS_TABLES]);
/* True of a table in which nobody else has any business. */
bool ours_is_table(uint32_t table, uint32_t export_table);

/* True if the table and the protocol number of a route, the protocol number of a rule, or the alias
 * of a link say that we made it. */
bool ours_is_route(uint32_t table, uint8_t protocol, uint32_t export_table);
bool ours_is_rule(uint8_t protocol);
bool ours_is_alias(const char *alias);
