/* SPDX-License-Identifier: Apache-2.0 */
/* A plausible value for each argument of the catalogue, by its name. */
#pragma once

#include <string.h>

#include "base/macro.h"
#include "cmocka_all.h"
#include "faults/fault_type.h"

enum { MAX_ARGUMENTS = 16 };

/* The struct of a type's table: 8 bytes a slot. */
union slot {
    int64_t number;
    const char *text;
};

static const struct {
    const char *name, *text;
} sample_texts[] = {
    { "address", "192.0.2.10" },
    { "addresses", "192.0.2.10, 192.0.2.11" },
    { "advertised", "192.0.2.10/32" },
    { "alias", "*base" },
    { "annotation", "pretend-ready" },
    { "as_of", "2026-01-02T03:04:05Z" },
    { "attribute", "community" },
    { "bound", "1s" },
    { "byte", "0xff" },
    { "chain", "inet filter forward" },
    { "character", "U+0007" },
    { "connected", "192.0.2.0/24" },
    { "context", "while parsing a block mapping" },
    { "destination", "198.51.100.0/24" },
    { "detail", "Invalid prog type" },
    { "direction", "ingress" },
    { "done", "created" },
    { "duration", "500ms" },
    { "egress", "internet/nat" },
    { "endpoint", "10.244.1.5" },
    { "endpoints", "shop/web" },
    { "engine", "nat" },
    { "error", "Connection refused" },
    { "example", "2026-01-02T03:04:05Z" },
    { "expected", "a string" },
    { "fallback", "false" },
    { "families", "IPv4, IPv6" },
    { "family", "4" },
    { "field", "exteralIPs" },
    { "file", "controller.yaml" },
    { "finalizer", "example.com/held" },
    { "first", "192.0.2.1" },
    { "foreign", "192.0.2.10/32 proto static" },
    { "format", "4" },
    { "found", "a number" },
    { "fresh", "119" },
    { "frontend", "192.0.2.10 port 443/TCP" },
    { "gateway", "192.0.2.77" },
    { "giver", "/etc/hosts" },
    { "good", "cluster" },
    { "helper", "bpf_redirect_neigh" },
    { "holder", "node-2" },
    { "hostname", "lb.example.com" },
    { "how", "took" },
    { "id", "12" },
    { "interface", "eth0" },
    { "interfaces", "eth0, eth1" },
    { "ip", "192.0.2.10" },
    { "ipv4", "10.244.1.5" },
    { "ipv6", "2001:db8:244::5" },
    { "keepable", "30" },
    { "key", "routes.table" },
    { "kind", "Service" },
    { "known", "5" },
    { "label", "shop" },
    { "lease", "15" },
    { "longer", "30s" },
    { "mac", "02:00:00:00:00:01" },
    { "map", "flows" },
    { "master", "br0" },
    { "meant", "externalIPs" },
    { "member", "server" },
    { "mend", "name one context" },
    { "more", ", 192.0.2.2" },
    { "most_address", "10.244.1.5" },
    { "name", "web" },
    { "namespace", "shop" },
    { "needs", "routes.advertise" },
    { "network", "10.244.0.0/16" },
    { "networks", "10.244.1.0/27" },
    { "next_hop", "198.51.100.1" },
    { "node", "node-1" },
    { "number", "70000" },
    { "object", "Service shop/web" },
    { "of", "shop/web" },
    { "old", "30" },
    { "older", "shop/first" },
    { "one", "node-1" },
    { "option", "sticky" },
    { "other", "node-2" },
    { "other_value", "9964" },
    { "others", "192.0.2.11" },
    { "out", "eth1" },
    { "outer", "10.96.0.0/12" },
    { "own", "192.0.2.0/24" },
    { "owner", "shop/first" },
    { "part", "a name" },
    { "path", "spec.ports[0].port" },
    { "pattern", "eth*" },
    { "place", "routes.table" },
    { "pod", "shop/web-1" },
    { "pool", "default" },
    { "port", "https" },
    { "ports", "80/TCP, 443/TCP" },
    { "prefix", "10.244.1.0/27" },
    { "process", "keepalived" },
    { "program", "a u32 filter of priority 7" },
    { "protocol", "TCP" },
    { "range", "192.0.2.0-192.0.2.9" },
    { "reason", "Permission denied" },
    { "remedy", "let the agent write there" },
    { "renew", "10" },
    { "retry", "2" },
    { "route", "192.0.2.10/32" },
    { "router", "192.0.2.254" },
    { "routes", "192.0.2.10/32, 192.0.2.11/32" },
    { "rule", "rule 31000 to table 119" },
    { "sandbox", "0f1e2d3c" },
    { "scope", "document" },
    { "selector", "app in (web" },
    { "served", "v1" },
    { "server", "https://192.0.2.1:6443" },
    { "service", "shop/web" },
    { "services", "shop/web, shop/mail" },
    { "session", "tor1" },
    { "set", "02:00:00:00:00:02" },
    { "setting", "services.interfaces" },
    { "shorter", "10s" },
    { "size", "8Ei" },
    { "slice", "shop/web-abcde" },
    { "source", "203.0.113.5" },
    { "subnet", "10.244.0.0/16" },
    { "tag", "!!binary" },
    { "taken", "Cluster" },
    { "text", "\"maybe\"" },
    { "took", "8.2" },
    { "type", "ExternalName" },
    { "uplink", "eth0" },
    { "value", "9963" },
    { "verb", "delete" },
    { "version", "v1beta1" },
    { "wanted", "v1" },
    { "what", "pods" },
    { "where", "terminating" },
    { "whose", "a pod" },
    { "within", "10 min" },
    { "word", "Clustr" },
    { "writer", "kubectl-edit" },
    { "written", "2026-01-02T03:04:05Z" },
    { "younger", "shop/second" },
};

static const struct {
    const char *name;
    int64_t number;
} sample_numbers[] = {
    { "asn", 64512 }, { "duration", 10 }, { "family", 4 },   { "first", 1024 }, { "given", 1500 },
    { "last", 1055 }, { "length", 24 },   { "limit", 1000 }, { "max", 65535 },  { "min", 1 },
    { "mtu", 1400 },  { "port", 443 },    { "table", 119 },  { "user", 1000 },  { "value", 2 },
};

static inline const char *sample_text(const struct fault_type *type, const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(sample_texts); i++)
        if (strcmp(sample_texts[i].name, name) == 0)
            return sample_texts[i].text;
    fail_msg("%s: tests/unit/faults/samples.h has no text for {%s}", type->code, name);
    return NULL;
}

/* Counts are 3. */
static inline int64_t sample_number(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(sample_numbers); i++)
        if (strcmp(sample_numbers[i].name, name) == 0)
            return sample_numbers[i].number;
    return 3;
}

static inline void sample_arguments(const struct fault_type *type, union slot *slots)
{
    memset(slots, 0, MAX_ARGUMENTS * sizeof(*slots));
    for (size_t i = 0; type->arguments[i].name; i++) {
        assert_true(i < MAX_ARGUMENTS);
        if (type->arguments[i].kind == FAULT_NUMBER_ARGUMENT)
            slots[i].number = sample_number(type->arguments[i].name);
        else
            slots[i].text = sample_text(type, type->arguments[i].name);
    }
}
