/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a configuration file as tables: what a key is called, how its value is read, and
 * where to. agentd.yaml (config.c) and controller.yaml (controller_config.c) have a grammar each.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fault.h"
#include "config/config.h"
#include "format/doc.h"

/* One parsing. Errors are added to the list; a lack of memory sticks in `error`. */
struct config_key;
struct config_elsewhere;
struct parse {
    const struct document *document;
    void *base;                    /* the struct that offsets refer to */
    const struct config_key *keys; /* the outermost table of the grammar */
    const struct config_elsewhere *elsewhere;
    struct faults *errors;
    int error; /* 0 or -ENOMEM */
};

/* Of agentd.yaml, for parsers that set more than their own field. */
static inline struct config *parse_config(const struct parse *parse)
{
    return parse->base;
}

/* Reads a value that is not null into `field`, or adds a fault and leaves it. */
typedef void (*config_parser)(struct parse *parse, const struct config_key *key,
                              const struct doc *node, void *field);

struct config_key {
    const char *name; /* NULL ends a table */
    config_parser parse;
    size_t offset;                 /* of the field in the struct that is filled */
    int64_t min, max;              /* for numbers; max: of a path, its bytes; 0: no limit */
    const struct config_key *keys; /* for a section */
    /* For a section in which nothing was wrong: what its values must be to each other. */
    void (*check)(struct parse *parse, const struct doc *section);
};

/* Names that count in another program's file, NULL at the end, by what that file is called. */
struct config_elsewhere {
    const char *file;
    const char *const *names;
};

/* What a file may say. */
struct config_grammar {
    const struct config_key *keys;
    struct config_elsewhere elsewhere;
    /* What one section asks of another; NULL: nothing. */
    void (*check)(struct parse *parse, const struct doc *root);
    bool without_source; /* the file may lack it */
};

/*
 * Reads a file into the struct at `base`, which has the defaults. Returns as config_load();
 * `*ret_document` is what was read, NULL if the file is empty.
 */
int parse_file(const char *path, const struct config_grammar *grammar, void *base,
               struct document **ret_document, struct faults *errors);

/* The outermost table of agentd.yaml; config.c */
extern const struct config_key config_keys[];

/* config_load() with the document that was read; NULL if the file is empty. */
int config_parse(const char *path, struct config **ret_config, struct document **ret_document,
                 struct faults *errors);

/* Reads the members of `map` by the table. */
void parse_keys(struct parse *parse, const struct config_key *keys, const struct doc *map);

/* The field becomes a copy of `value`. */
void parse_set_string(struct parse *parse, char **field, const char *value);

/* The field becomes a copy of the text if it is good, else a fault says what was `expected`. */
void parse_checked(struct parse *parse, const struct doc *node, char **field,
                   bool (*is_good)(const char *text), const char *expected);

/* Of a folder that has a socket: the kernel takes 107 bytes with the socket's name. */
enum { SOCKET_FOLDER_MAX = 90 };

/* Hosts probe a silent connection after two hours, nine times at most, 75 seconds apart. */
enum { KEPT_ALIVE_MS = (2 * 60 + 4) * MINUTE_MS };

/* The section egress, and what holds where it is silent, after services' defaults; egress.c */
extern const struct config_key egress_keys[];
void egress_defaults(struct config *config);
void parse_unknown_pods(struct parse *, const struct config_key *, const struct doc *, void *);
void parse_pod_tunnels(struct parse *, const struct config_key *, const struct doc *, void *);
void parse_serves(struct parse *, const struct config_key *, const struct doc *, void *list_field);

/* The section addresses; agent_addresses.c */
extern const struct config_key agent_addresses_keys[];
void agent_addresses_check(struct parse *parse, const struct doc *section);
void parse_claim_group(struct parse *, const struct config_key *, const struct doc *, void *);
void parse_failback(struct parse *, const struct config_key *, const struct doc *, void *ms_field);
void parse_lease_namespace(struct parse *, const struct config_key *, const struct doc *,
                           void *char_field);
/* The section services.firewall; firewall.c */
extern const struct config_key firewall_keys[];
void parse_firewall_fault(struct parse *, const struct config_key *, const struct doc *, void *);
void parse_firewall_mode(struct parse *, const struct config_key *, const struct doc *, void *);
void parse_firewall_scope(struct parse *, const struct config_key *, const struct doc *, void *);
void parse_mark(struct parse *, const struct config_key *, const struct doc *, void *uint32_field);

/* The sections consul of controller.yaml and agentd.yaml; export_keys.c, agent_consul.c */
extern const struct config_key export_keys[];
void export_keys_check(struct parse *parse, const struct doc *section);
extern const struct config_key agent_consul_keys[];
void agent_consul_check(struct parse *parse, const struct doc *section);
/* What export_config_check() finds, each at its key's place where the section has the key. */
void export_check_at(struct parse *parse, const struct doc *section,
                     const struct export_config *config);
void parse_texts(struct parse *, const struct config_key *, const struct doc *, void *list_field);
void parse_namespaces(struct parse *, const struct config_key *, const struct doc *, void *);
void parse_consul_address(struct parse *, const struct config_key *, const struct doc *, void *);

/* Parsers by type of field; parse_values.c */
void parse_section(struct parse *, const struct config_key *, const struct doc *, void *);
/* A section that says something by being there, if only as {}. */
void parse_present(struct parse *, const struct config_key *, const struct doc *, void *bool_field);
void parse_bool(struct parse *, const struct config_key *, const struct doc *, void *bool_field);
void parse_count(struct parse *, const struct config_key *, const struct doc *, void *uint32_field);
void parse_size(struct parse *, const struct config_key *, const struct doc *, void *uint64_field);
void parse_duration(struct parse *, const struct config_key *, const struct doc *, void *ms_field);
void parse_text(struct parse *, const struct config_key *, const struct doc *, void *char_field);
void parse_path(struct parse *, const struct config_key *, const struct doc *, void *char_field);
/* The field becomes the index of the word, or a fault names them all. */
void parse_word(struct parse *parse, const struct doc *node, const char *const *words, size_t count,
                unsigned *field);
/* Frees the names and empties the list. */
void parse_clear_names(string_list *list);
/* Names of other systems, and whether a text is one; parse_names.c */
void parse_class(struct parse *, const struct config_key *, const struct doc *, void *char_field);
void parse_label_value(struct parse *, const struct config_key *, const struct doc *,
                       void *char_field);
void parse_consul_name(struct parse *, const struct config_key *, const struct doc *,
                       void *char_field);
bool parse_is_namespace(const char *text);
/* A name of letters, digits, dashes and dots, as the API takes names of most objects. */
bool parse_is_domain(const char *text);
/* A reference to an image, as container runtimes take it: [HOST[:PORT]/]NAME[:TAG][@DIGEST]. */
bool parse_is_image(const char *text);
/* HOST or HOST:PORT, of a URL; an IPv6 address is in brackets. */
bool parse_is_host(const char *text);
/* Names and patterns of interfaces, or "auto". */
void parse_uplinks(struct parse *, const struct config_key *, const struct doc *, void *list_field);
void parse_pod_interfaces(struct parse *, const struct config_key *, const struct doc *,
                          void *list_field);

void parse_claim_interfaces(struct parse *, const struct config_key *, const struct doc *,
                            void *list_field);

/* Those of one key; config.c */
void parse_deadman(struct parse *, const struct config_key *, const struct doc *, void *ms_field);
void parse_pods_table(struct parse *, const struct config_key *, const struct doc *,
                      void *u32_field);
void parse_node(struct parse *, const struct config_key *, const struct doc *, void *char_field);
void parse_kubernetes(struct parse *, const struct config_key *, const struct doc *,
                      void *bool_field);

/* Those that know about networks; parse_network.c */
void parse_cidrs(struct parse *, const struct config_key *, const struct doc *, void *list_field);
void parse_cluster_cidrs(struct parse *, const struct config_key *, const struct doc *, void *);
void parse_node_ports(struct parse *, const struct config_key *, const struct doc *, void *);
void parse_endpoint(struct parse *, const struct config_key *, const struct doc *,
                    void *char_field);
void parse_port_range(struct parse *, const struct config_key *, const struct doc *,
                      void *range_field);
void parse_addresses(struct parse *, const struct config_key *, const struct doc *,
                     void *ip_list_field);
/* A number, or a list of names of BIRD's protocols. */
enum { EXPECT_PEERS_MAX = 1000 };
void parse_expect_peers(struct parse *, const struct config_key *, const struct doc *,
                        void *list_field);
void parse_packet_path(struct parse *, const struct config_key *, const struct doc *, void *);
void parse_advertise(struct parse *, const struct config_key *, const struct doc *, void *);
void parse_table(struct parse *, const struct config_key *, const struct doc *, void *uint32_field);
