// SPDX-License-Identifier: Apache-2.0
/*
 * The section services.firewall of agentd.yaml: its keys, and the parsers of its values; and
 * services.firewallFault, which is of firewalls of others.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/parse.h"
#include "faults/documents.h"
#include "format/quote.h"

#define FIELD(member) .offset = offsetof(struct config, services.firewall.member)

const char *const firewall_fault_names[FIREWALL_FAULTS] = { "keep", "withdraw" };
const char *const firewall_mode_names[FIREWALL_MODES] = { "off", "mark", "accept" };
const char *const firewall_scope_names[FIREWALL_SCOPES] = { "all", "holder" };

void parse_firewall_fault(struct parse *parse, const struct config_key *key, const struct doc *node,
                          void *field)
{
    (void)key;
    unsigned fault = *(enum firewall_fault *)field;
    parse_word(parse, node, firewall_fault_names, FIREWALL_FAULTS, &fault);
    *(enum firewall_fault *)field = (enum firewall_fault)fault;
}

void parse_firewall_mode(struct parse *parse, const struct config_key *key, const struct doc *node,
                         void *field)
{
    (void)key;
    unsigned mode = *(enum firewall_mode *)field;
    parse_word(parse, node, firewall_mode_names, FIREWALL_MODES, &mode);
    *(enum firewall_mode *)field = (enum firewall_mode)mode;
}

void parse_firewall_scope(struct parse *parse, const struct config_key *key, const struct doc *node,
                          void *field)
{
    (void)key;
    unsigned scope = *(enum firewall_scope *)field;
    parse_word(parse, node, firewall_scope_names, FIREWALL_SCOPES, &scope);
    *(enum firewall_scope *)field = (enum firewall_scope)scope;
}

/* As nft and iptables write marks: hexadecimal with 0x, or decimal. */
void parse_mark(struct parse *parse, const struct config_key *key, const struct doc *node,
                void *field)
{
    char shown[QUOTE_LEN];
    const char *text = node->type == DOC_SCALAR ? node->text : "";
    char *end;
    (void)key;
    errno = 0;
    unsigned long long mark = strtoull(text, &end, 0);
    bool whole = isdigit((unsigned char)*text) && *end == '\0' && errno == 0;
    if (whole && mark >= 1 && mark <= UINT32_MAX)
        *(uint32_t *)field = (uint32_t)mark;
    else
        doc_raise(parse->document, node, parse->errors, document_value_unexpected,
                  .expected = "a mark from 0x1 to 0xffffffff", .found = quote(text, shown));
}

const struct config_key firewall_keys[] = {
    { "mode", parse_firewall_mode, FIELD(mode) },
    { "mark", parse_mark, FIELD(mark) },
    { "scope", parse_firewall_scope, FIELD(scope) },
    { "nodePorts", parse_bool, FIELD(node_ports) },
    { NULL },
};
