// SPDX-License-Identifier: Apache-2.0
/*
 * The one table of verbs, and what is printed from it alone: --help and the version.
 *
 * A new verb is a row here, a section of docs/man/agentctl.1.scd, and goldens for it;
 * tests/cli/test_agreement.py compares the table with --help, completion and man page.
 */
#include "agentctl/verbs/verbs.h"

#include <stdio.h>
#include <string.h>

#include "agentctl/options.h"
#include "agentctl/output.h"
#include "agentctl/tables.h"
#include "base/macro.h"
#include "format/json.h"

static int verb_help(const struct ctl *ctl, char **args);

static int verb_version(const struct ctl *ctl, char **args)
{
    AUTOTEXT struct text out = { 0 };
    struct json json = { .out = &out };

    (void)args;
    if (ctl->json) {
        json_begin_object(&json, NULL);
        json_string(&json, "apiVersion", "v1");
        json_string(&json, "kind", "Version");
        json_string(&json, "version", FINGERPOST_VERSION);
        json_end_object(&json);
        text_add_char(&out, '\n');
    } else {
        text_add(&out, "agentctl " FINGERPOST_VERSION "\n");
    }
    return print_text(&out, EXIT_OK);
}

const struct verb verbs[] = {
    { "See", "status", "", "health on one screen; the default", 0, 0,
      OPTION_WAIT | OPTION_VERBOSE | OPTION_WATCH | OPTION_BRIEF, verb_status },
    { "See", "faults", "", "what is wrong, since when, and what to do", 0, 0,
      OPTION_WATCH | OPTION_CODE | OPTION_VERBOSE, verb_faults },
    { "See", "explain", "ADDR|NS/NAME", "one address: objects, plan, kernel, BGP", 1, 1,
      OPTION_WATCH | OPTION_VERBOSE, verb_explain, .completes = COMPLETES_ADDRESS },
    { "See", "trace", "SRC DST", "what becomes of a packet, and why", 2, 2,
      OPTION_IN | OPTION_WATCH, verb_trace, .moves = true },
    { "See", "controller", "", "the controller on this machine: who leads, jobs", 0, 0,
      OPTION_VERBOSE | OPTION_WATCH | OPTION_BRIEF, verb_controller, .server = &server_controller,
      .moves = true },
    { "See", "controller pools", "", "LoadBalancer pools of the cluster, as pools", 0, 0,
      OPTION_VERBOSE | OPTION_WATCH, verb_pools, .columns = pool_columns,
      .server = &server_controller, .moves = true },
    { "See", "controller blocks", "", "blocks of all nodes, and how full their pools are", 0, 0,
      OPTION_WATCH, verb_controller_blocks, .columns = cluster_block_columns,
      .server = &server_controller, .moves = true },
    { "See", "controller requests", "", "nodes that ask for a block, and why they have none", 0, 0,
      OPTION_WATCH, verb_controller_requests, .columns = request_columns,
      .server = &server_controller, .moves = true },
    { "See", "controller egresses", "", "gateways of Egresses, and what they lack", 0, 0,
      OPTION_WATCH, verb_controller_egresses, .columns = workload_columns,
      .server = &server_controller, .moves = true },
    { "See", "diff", "", "wanted against installed", 0, 0, OPTION_WATCH, verb_diff,
      .columns = diff_columns },
    { "List", "routes", "", "every prefix, announced or not, and why", 0, 0, OPTION_WATCH,
      verb_routes, .columns = route_columns },
    { "List", "services", "", "services, their addresses and their traffic", 0, 0,
      OPTION_WATCH | OPTION_VERBOSE, verb_services, .columns = service_columns, .moves = true },
    { "List", "backends", "[NS/NAME]", "endpoints, and which of them get new flows", 0, 1,
      OPTION_WATCH, verb_backends, .columns = backend_columns, .completes = COMPLETES_SERVICE,
      .moves = true },
    { "List", "flows", "", "connections that NAT translates now", 0, 0,
      OPTION_WATCH | OPTION_SERVICE | OPTION_LIMIT, verb_flows, .columns = flow_columns,
      .moves = true },
    { "List", "egress", "", "gateways of Egresses, and this node as one", 0, 0,
      OPTION_WATCH | OPTION_PORTS, verb_egress, .columns = egress_columns, .moves = true },
    { "List", "peers", "", "BIRD's BGP sessions", 0, 0, OPTION_WATCH, verb_peers,
      .columns = peer_columns },
    { "List", "blocks", "", "pod blocks of this node", 0, 0, OPTION_WATCH, verb_blocks,
      .columns = block_columns },
    { "List", "addresses", "", "addresses that one node has at a time, and who", 0, 0, OPTION_WATCH,
      verb_addresses, .columns = address_columns, .moves = true },
    { "List", "pods", "", "pods of this node, and how full its blocks are", 0, 0,
      OPTION_WATCH | OPTION_VERBOSE, verb_pods, .columns = pod_columns },
    { "List", "pools", "", "pools of LoadBalancer addresses, and who lacks one", 0, 0,
      OPTION_WATCH | OPTION_VERBOSE, verb_pools, .columns = pool_columns },
    { "List", "export", "", "documents told to load balancers outside", 0, 0, OPTION_WATCH,
      verb_export, .columns = export_columns, .server = &server_controller, .moves = true },
    { "List", "maps", "", "NAT's BPF maps and how full they are", 0, 0, OPTION_WATCH, verb_maps,
      .columns = map_columns, .moves = true },
    { "Check", "doctor", "", "what is wrong with this machine", 0, 0,
      OPTION_CONFIG | OPTION_VERBOSE, verb_doctor },
    { "Check", "verify", "", "NAT's live maps and hooks against the objects", 0, 0, OPTION_WATCH,
      verb_verify, .columns = difference_columns, .moves = true },
    { "Check", "plan", "-f DIR", "the tables that manifests lead to; needs no agent", 0, 0,
      OPTION_FOLDER | OPTION_CONFIG | OPTION_NODE | OPTION_CONTROLLER, verb_plan },
    { "Check", "config check", "[FILE]", "every error of a configuration; needs no agent", 0, 1,
      OPTION_RUNNING, verb_config_check, .completes = COMPLETES_FILE },
    { "Check", "config show", "[FILE]", "every setting and its origin; needs no agent", 0, 1, 0,
      verb_config_show, .columns = setting_columns, .completes = COMPLETES_FILE },
    { "Act", "setup", "", "a first configuration for this machine", 0, 0,
      OPTION_CONFIG | OPTION_FOLDER | OPTION_WRITE | OPTION_ASN, verb_setup },
    { "Act", "drain", "", "announce as draining, then withdraw", 0, 0,
      OPTION_NO_WAIT | OPTION_REASON | OPTION_FOR, verb_drain },
    { "Act", "withdraw", "", "withdraw this node's service addresses at once", 0, 0, OPTION_REASON,
      verb_withdraw },
    { "Act", "undrain", "", "announce them again", 0, 0, 0, verb_undrain },
    { "Act", "cleanup", "", "with agentd stopped: remove all that is ours", 0, 0, OPTION_CONFIG,
      verb_cleanup },
    { "Help", "version", "", "the version of this command", 0, 0, 0, verb_version },
    { "Help", "help", "[VERB]", "this text, or a verb's own options", 0, 2, 0, verb_help,
      .completes = COMPLETES_VERB },
    { "Help", "help fault", "[CODE]", "what a kind of fault means; all kinds", 0, 1, 0,
      verb_help_fault, .completes = COMPLETES_CODE },
};
const size_t verb_count = ARRAY_SIZE(verbs);

static int help_verb(char **words)
{
    int used = 0;
    const struct verb *verb = verb_find(words, &used);

    if (!verb || words[used])
        return verb_unknown(verb ? words[used] : words[0]);
    printf("Usage: agentctl [OPTIONS] %s%s%s\n\n%s\n\n", verb->name, *verb->args ? " " : "",
           verb->args, verb->help);
    options_help(stdout, verb_options(verb));
    return EXIT_OK;
}

static int verb_help(const struct ctl *ctl, char **args)
{
    const char *group = "";
    char left[32];

    (void)ctl;
    if (args && args[0])
        return help_verb(args);
    printf("Usage: agentctl [OPTIONS] [VERB] [ARGUMENTS]\n\n");
    for (size_t i = 0; i < verb_count; i++) {
        const struct verb *verb = &verbs[i];
        bool first = strcmp(verb->group, group) != 0;
        (void)snprintf(left, sizeof(left), "%s %s", verb->name, verb->args);
        printf("%-6s %-20s %s\n", first ? verb->group : "", left, verb->help);
        group = verb->group;
    }
    printf("\n");
    options_help(stdout, OPTIONS_USUAL);
    printf("Exit status: 0 good, 1 degraded, different or invalid, 2 failed, 3 no agent,\n"
           "4 no such object, 64 usage, 77 no permission. More: man agentctl\n"
           "Example: agentctl routes --json | jq '.items[] | select(.state == \"withheld\")'\n");
    return EXIT_OK;
}

unsigned verb_options(const struct verb *verb)
{
    unsigned options = verb->options;

    if (verb->columns)
        options |= OPTION_COLUMNS | OPTION_WIDE;
    for (const struct column *column = verb->columns; column && column->title; column++)
        if (column->flags & COLUMN_NAME)
            options |= OPTION_NAMES;
    return options;
}

/* How many of the words are the verb's name; 0 if they are not. */
static int words_of(const struct verb *verb, char **words)
{
    const char *space = strchr(verb->name, ' ');
    size_t first = space ? (size_t)(space - verb->name) : strlen(verb->name);

    if (!words[0] || strlen(words[0]) != first || strncmp(words[0], verb->name, first) != 0)
        return 0;
    if (!space)
        return 1;
    return words[1] && strcmp(words[1], space + 1) == 0 ? 2 : 0;
}

const struct verb *verb_find(char **words, int *ret_used)
{
    const struct verb *found = NULL;
    int longest = 0;

    for (size_t i = 0; i < verb_count; i++) {
        int used = words_of(&verbs[i], words);
        if (used > longest) {
            found = &verbs[i];
            *ret_used = longest = used;
        }
    }
    return found;
}

int verb_unknown(const char *word)
{
    AUTOTEXT struct text ways = { 0 };
    const size_t length = strlen(word);

    for (size_t i = 0; i < verb_count; i++) {
        const char *name = verbs[i].name;
        if (strncmp(name, word, length) == 0 && name[length] == ' ')
            text_addf(&ways, "%s%s", ways.length ? " or " : "", name + length + 1);
    }
    if (ways.length)
        fprintf(stderr, "agentctl: %s wants %s (see agentctl --help)\n", word, text_str(&ways));
    else
        fprintf(stderr, "agentctl: unknown verb '%s' (see agentctl --help)\n", word);
    return EXIT_USAGE;
}
