/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the plane share: the maps and programs as they are loaded, and the memory of
 * what each Service has in them. Who stands outside takes plane.h.
 *
 * The memory holds ids, and keys of hash tables, so that a write finds the difference without
 * asking the kernel. What arrays say is always read from them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apply/nat/ids.h"
#include "apply/nat/maps.h"
#include "apply/nat/plane.h"
#include "apply/nat/walk.h"
#include "base/sorted.h"
#include "base/vec.h"

/* One entry of "frontends" as it stands there. */
struct nat_entry {
    struct nat_frontend_key key;
    uint32_t port;
    uint8_t kind; /* enum nat_frontend_kind */
};
typedef VEC(struct nat_entry) nat_entry_list; /* sorted by key */
int nat_entry_cmp(const void *a, const void *b);

typedef VEC(uint32_t) nat_id_list;

/* One port id of a Service, and the ids of its endpoints, in the order of their addresses. */
struct nat_installed_port {
    uint32_t id;
    uint64_t owner;          /* as in nat_port_value */
    uint64_t sets[NAT_SETS]; /* slots that are taken for it: those of the bank in force */
    nat_id_list endpoints;
};
typedef VEC(struct nat_installed_port) nat_installed_ports;

typedef VEC(struct nat_range_key) nat_range_list; /* sorted; `owner` is zero */
int nat_range_cmp(const void *a, const void *b);

/* One Service that has entries in the maps. An allocation of its own. */
struct nat_installed {
    char *name; /* "namespace/name" */
    uint32_t id;
    bool doubted; /* hash tables may differ from what is installed here: ask them before relying on
                     it */
    nat_entry_list entries;
    nat_installed_ports ports;
    nat_range_list ranges[NAT_BANKS];
};
int nat_installed_cmp(const void *a, const void *b); /* of struct nat_installed *const * */
void nat_installed_free(struct nat_installed *installed);
DEFINE_CLEANUP(struct nat_installed *, nat_installed_free);

/* Where the sweep is; see sweep.c. */
struct nat_sweep {
    enum { NAT_SWEEP_IDLE, NAT_SWEEP_NEW, NAT_SWEEP_FLOWS } phase;
    struct nat_walk walk;
    bool refilling;         /* the idle half of the filter is being filled anew */
    int64_t next_refill_ms; /* not before */
    /* Entries of "flows", and connections, in this round and in the one before. */
    uint64_t seen, established, last_seen, last_established;
};

/*
 * endpoints[0].addr.words[NAT_GENERATION_WORD]: the last generation that an endpoint was given.
 * services[0]: the same of services, in its upper half. Both are nobody's otherwise.
 */
enum { NAT_GENERATION_WORD = 0 };

struct nat_programs;

struct nat_plane {
    struct nat_programs *live, *twin;
    char *pins; /* the folder of this layout's maps; NULL: nothing is pinned */
    char *root; /* nat_plane_options.pins */
    struct nat_map maps[NAT_MAP_COUNT];

    /* The mapped arrays; see bpf/abi.h. */
    struct nat_control *control;
    __u64 *filter, *services, *slots;
    struct nat_port_value *ports;
    struct nat_endpoint_value *endpoints;
    struct nat_counter *counters;

    struct nat_ids ids;
    struct sorted installed;      /* struct nat_installed *, by name */
    struct nat_installed **by_id; /* by service id */
    VEC(struct ip) local;         /* this node's own addresses, sorted */
    nat_entry_list strays;        /* entries of no Service, which the next sweep removes */
    bool filter_litter;           /* the filter has bits of what is gone */
    struct nat_sweep sweep;
};

/* ---- installed.c ---- */

/* "namespace/name", as the maps have it. Returns 0 or -ENAMETOOLONG. */
int nat_name_of(const char *namespace, const char *name, char buffer[static NAT_NAME_MAX]);
struct nat_installed *nat_installed_find(const struct nat_plane *plane, const char *name);

/* "10.96.0.10:80/TCP", "10.96.0.10" where the port is 0. Returns `buffer`. */
enum { NAT_KEY_STRLEN = 64 };
const char *nat_key_str(const struct nat_frontend_key *key, char buffer[static NAT_KEY_STRLEN]);

/* ---- filter.c ---- */

void nat_filter_add(struct nat_plane *plane, const struct nat_addr *addr, __be16 port);
bool nat_filter_has(const struct nat_plane *plane, const struct nat_addr *addr, __be16 port);
/* What packets to an entry are found by. */
void nat_filter_add_entry(struct nat_plane *plane, const struct nat_entry *entry);
bool nat_filter_has_entry(const struct nat_plane *plane, const struct nat_entry *entry);
/* What packets of a flow are found by, whether or not its Service is still there. */
void nat_filter_add_flow(struct nat_plane *plane, const struct nat_tuple *key,
                         const struct nat_flow *flow);
/* Empties the idle half and puts everything that stands into it; what is added joins both. */
void nat_filter_refill(struct nat_plane *plane);
/* Puts the refilled half in force. */
void nat_filter_switch(struct nat_plane *plane);
/* The filter of a map of another size, or of a new one: with all that stands and all flows. */
int nat_filter_begin(struct nat_plane *plane);

/* ---- verify.c ---- */

/* Removes entries of nobody that nat_plane_verify() has met. */
void nat_strays_remove(struct nat_plane *plane);

/* ---- arrays ---- */

/* Everything that was written before is seen by who reads this word. */
static inline void nat_word_set(__u64 *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline uint64_t nat_set_of(uint32_t first, uint32_t count)
{
    return (uint64_t)first << 32 | count;
}

/* The slots of a set; NULL if it is none: then `ret_count` is 0. */
static inline const __u64 *nat_set_slots(const struct nat_plane *plane, uint64_t set,
                                         uint32_t *ret_count)
{
    uint32_t first = (uint32_t)(set >> 32), count = (uint32_t)set;
    uint32_t entries = plane->maps[NAT_MAP_SLOTS].entries;
    bool inside = first < entries && count <= entries - first;
    *ret_count = inside ? count : 0;
    return inside ? plane->slots + first : NULL;
}

/* Whether an id is that of an endpoint of this port, and alive. */
static inline bool nat_endpoint_lives(const struct nat_plane *plane, uint32_t id, uint32_t port)
{
    return id > 0 && id < plane->maps[NAT_MAP_ENDPOINTS].entries &&
           plane->endpoints[id].owner == port &&
           (plane->endpoints[id].state & NAT_ENDPOINT_GENERATION) != 0;
}

/* What a slot says of an endpoint as it is now. */
static inline uint64_t nat_slot_of(const struct nat_plane *plane, uint32_t id)
{
    return (uint64_t)id << 32 | (plane->endpoints[id].state & NAT_ENDPOINT_GENERATION);
}

static inline uint32_t nat_service_bank(const struct nat_plane *plane, uint32_t service)
{
    return plane->services[service] & NAT_SERVICE_BANK ? 1 : 0;
}

/* ---- addr.c: the maps' addresses (IPv4 mapped) and ours ---- */

struct nat_addr nat_addr_of(const struct ip *ip); /* IP_NONE: all zero */
struct ip nat_addr_ip(const struct nat_addr *addr);
struct nat_endpoint nat_endpoint_of(const struct nat_plane *plane, uint32_t id);
/* Whether it is one of this node's own. */
bool nat_is_local(const struct nat_plane *plane, const struct ip *ip);
