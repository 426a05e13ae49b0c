/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Installed Services: the agent's memory of each Service that has entries in the maps.
 *
 * The memory has ids, and keys of hash tables and tries, so that a write finds the difference
 * without reading them from the kernel. The contents of arrays are always read from the arrays.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "apply/nat/datapath.h"
#include "base/vec.h"

/* One entry of "frontends". */
struct nat_entry {
    struct nat_frontend_key key;
    uint32_t port;
    uint8_t kind; /* enum nat_frontend_kind */
};
typedef VEC(struct nat_entry) nat_entry_list; /* sorted by key */
int nat_entry_cmp(const void *a, const void *b);

typedef VEC(uint32_t) nat_id_list;
int nat_id_cmp(const void *a, const void *b);

typedef VEC(uint64_t) nat_word_list;
int nat_word_cmp(const void *a, const void *b);

/* An endpoint as the maps have it: once in a Service for all its ports of that protocol. */
struct nat_stored {
    struct nat_endpoint endpoint;
    uint8_t protocol;
};
int nat_stored_cmp(const void *a, const void *b);

struct nat_installed_port {
    uint32_t id;
    uint64_t owner;          /* as in nat_port_value */
    uint64_t sets[NAT_SETS]; /* its slots: those of the bank in force */
    nat_id_list endpoints;   /* all that serve it, sorted; see nat_installed.known */
};
typedef VEC(struct nat_installed_port) nat_installed_ports;

typedef VEC(struct nat_range_key) nat_range_list; /* sorted; `owner` is zero */
int nat_range_cmp(const void *a, const void *b);

/* One Service. An allocation of its own, with its name. */
struct nat_installed {
    char *name; /* "namespace/name" */
    uint32_t id;
    bool doubted; /* the hash tables may differ: read them before use */
    nat_entry_list entries;
    nat_installed_ports ports;
    nat_id_list endpoints; /* of all ports, in the order of nat_stored_cmp() */
    nat_word_list sets;    /* of all ports, sorted, each once: the slots that the Service has */
    bool known;            /* the ports have their `endpoints`: not before the first write */
    nat_range_list ranges[NAT_BANKS];
};
int nat_installed_cmp(const void *a, const void *b); /* of struct nat_installed *const * */

/* Makes a Service of this name without any entries; NULL: no memory. */
struct nat_installed *nat_installed_new(const char *name);
void nat_installed_free(struct nat_installed *installed);
DEFINE_CLEANUP(struct nat_installed *, nat_installed_free);

/* Writes "namespace/name", as the maps have it. Returns 0 or -ENAMETOOLONG. */
int nat_name_of(const char *namespace, const char *name, char buffer[static NAT_NAME_MAX]);

/* Borrowed until the Service is removed. NULL: it is not installed. */
struct nat_installed *nat_installed_find(const struct nat_datapath *datapath, const char *name);
/* The same by service id; NULL also of ids that are too large. */
struct nat_installed *nat_installed_by_id(const struct nat_datapath *datapath, uint32_t id);
