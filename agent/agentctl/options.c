// SPDX-License-Identifier: Apache-2.0
/*
 * The options of the command line: one table for parsing, help and completion. What a verb alone
 * has, `agentctl help VERB` tells: the summary shall fit a screen.
 *
 * Options may stand before, between and after the words (GNU getopt permutes). An option that
 * belongs to some verbs only is accepted here for all; main.c refuses it for the others, once the
 * verb is known.
 *
 * Colour, in this order: --color=always or never, NO_COLOR set and not empty, TERM=dumb, whether
 * standard output is a terminal.
 */
#include "agentctl/options.h"

#include <ctype.h>
#include <getopt.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"

enum option_id {
    ID_JSON = 256, /* above all letters */
    ID_SOCKET,
    ID_TIMEOUT,
    ID_COLOR,
    ID_NO_HEADER,
    ID_WAIT,
    ID_CONFIG,
    ID_CONTROLLER,
    ID_NODE,
    ID_NO_WAIT,
    ID_WRITE,
    ID_BRIEF,
    ID_IN,
    ID_SERVICE,
    ID_LIMIT,
    ID_PORTS,
    ID_RUNNING,
    ID_REASON,
    ID_FOR,
    ID_ASN,
    ID_PEER_ASN,
    ID_CODE,
    ID_COLUMNS = 'c',
    ID_FOLDER = 'f',
    ID_OUTPUT = 'o',
    ID_VERBOSE = 'v',
    ID_WATCH = 'w',
    ID_HELP = 'h',
};

const struct server server_agent = {
    .name = "agent",
    .unit = "agentd",
    .socket = "/run/fingerpost/agentd.sock",
    .without = "what an agent has written to the kernel stays in force without it",
    .status_path = "/v1/status",
};
const struct server server_controller = {
    .name = "controller",
    .unit = "agent-controller",
    .socket = "/run/fingerpost/controller.sock",
    .without = "what was decided stays so without it, and another may lead",
    .status_path = "/v1/controller",
};

static const char *const color_words[] = {
    [COLOR_AUTO] = "auto",
    [COLOR_ALWAYS] = "always",
    [COLOR_NEVER] = "never",
    NULL,
};
static const char *const output_words[] = { "wide", "json", "name", NULL };

/* clang-format off */
const struct option_row option_rows[] = {
    { ID_OUTPUT, "output", "FORM", OPTION_COMMON, "wide, json, or name: names alone, one per line",
      COMPLETES_WORD, output_words },
    { ID_JSON, "json", NULL, OPTION_COMMON, "as -o json: the API's document unchanged" },
    { ID_COLUMNS, "columns", "A,B", OPTION_COLUMNS, "these columns of a table, in this order",
      COMPLETES_COLUMNS },
    { ID_WATCH, "watch", NULL, OPTION_WATCH, "show it again when it changes, until interrupted" },
    { ID_WAIT, "wait", "DURATION", OPTION_WAIT, "return when all seen so far is applied" },
    { ID_BRIEF, "brief", NULL, OPTION_BRIEF, "one word" },
    { ID_VERBOSE, "verbose", NULL, OPTION_VERBOSE, "leave nothing out" },
    { ID_SERVICE, "service", "NS/NAME", OPTION_SERVICE, "of this Service only",
      COMPLETES_SERVICE },
    { ID_LIMIT, "limit", "N", OPTION_LIMIT, "at most so many, default 100" },
    { ID_CODE, "code", "CODE", OPTION_CODE, "faults of this kind only", COMPLETES_CODE },
    { ID_PORTS, "ports", NULL, OPTION_PORTS, "who has which source ports, on a gateway" },
    { ID_RUNNING, "running", NULL, OPTION_RUNNING, "and whether the agent runs with it" },
    { ID_FOLDER, "folder", "DIR", OPTION_FOLDER, "the folder of manifests", COMPLETES_FOLDER },
    { ID_IN, "in", "INTERFACE", OPTION_IN, "where it comes in; host: this node itself" },
    { ID_CONFIG, "config", "FILE", OPTION_CONFIG, "settings from this file", COMPLETES_FILE },
    { ID_CONTROLLER, "controller", "FILE", OPTION_CONTROLLER, "exports by this controller.yaml",
      COMPLETES_FILE },
    { ID_NODE, "node", "NAME", OPTION_NODE, "for this node instead of this machine" },
    { ID_NO_WAIT, "no-wait", NULL, OPTION_NO_WAIT, "return at once" },
    { ID_REASON, "reason", "TEXT", OPTION_REASON, "kept, and shown by status" },
    { ID_FOR, "for", "DURATION", OPTION_FOR, "announced as draining, not routes.drain.shutdown" },
    { ID_WRITE, "write", NULL, OPTION_WRITE, "write what is shown" },
    { ID_ASN, "asn", "N", OPTION_ASN, "this node's AS number" },
    { ID_PEER_ASN, "peer-asn", "N", OPTION_ASN, "the router's AS number" },
    { ID_NO_HEADER, "no-header", NULL, OPTION_COMMON, "tables without header and footer" },
    { ID_COLOR, "color", "WHEN", OPTION_COMMON, "auto, always or never", COMPLETES_WORD,
      color_words },
    { ID_SOCKET, "socket", "PATH", OPTION_COMMON, "default /run/fingerpost/agentd.sock",
      COMPLETES_FILE },
    { ID_TIMEOUT, "timeout", "DURATION", OPTION_COMMON, "for an answer, default 5s" },
    { ID_HELP, "help", NULL, OPTION_COMMON, "this text; behind a verb: about the verb" },
};
/* clang-format on */
const size_t option_row_count = ARRAY_SIZE(option_rows);

static int usage_error(const char *problem, const char *what)
{
    fprintf(stderr, "agentctl: %s '%s' (see agentctl --help)\n", problem, what);
    return EXIT_USAGE;
}

static int parse_duration(const char *string, int64_t *ret_ms)
{
    if (clock_parse_duration(string, ret_ms) < 0)
        return usage_error("not a duration such as 500ms, 10s or 2m:", string);
    return 0;
}

static int parse_color(const char *string, enum color_when *ret_when)
{
    for (size_t i = 0; color_words[i]; i++) {
        if (strcmp(string, color_words[i]) == 0) {
            *ret_when = (enum color_when)i;
            return 0;
        }
    }
    return usage_error("--color wants auto, always or never, not", string);
}

static int parse_output(const char *string, struct ctl *ctl)
{
    ctl->wide = strcmp(string, "wide") == 0;
    ctl->json = strcmp(string, "json") == 0;
    ctl->names = strcmp(string, "name") == 0;
    if (!ctl->wide && !ctl->json && !ctl->names)
        return usage_error("-o wants wide, json or name, not", string);
    return 0;
}

static int parse_limit(const char *string, int64_t *ret_limit)
{
    char *end = NULL;
    long value = strtol(string, &end, 10);

    if (end == string || *end || value < 1 || value > 1000000)
        return usage_error("--limit wants a number from 1 to 1000000, not", string);
    *ret_limit = value;
    return 0;
}

static int parse_asn(const char *string, uint32_t *ret_asn)
{
    char *end = NULL;
    unsigned long long value = strtoull(string, &end, 10);

    if (!isdigit((unsigned char)*string) || *end || value < 1 || value > UINT32_MAX)
        return usage_error("not an AS number (1..4294967295):", string);
    *ret_asn = (uint32_t)value;
    return 0;
}

static int parse_code(const char *string, const char **ret_code)
{
    if (!*string || string[strspn(string, "abcdefghijklmnopqrstuvwxyz0123456789-")])
        return usage_error("not a code such as bgp-session-down:", string);
    *ret_code = string;
    return 0;
}

/* Where an option's argument is kept as it is; NULL: it has none, or is parsed. */
static const char **text_of(struct ctl *ctl, int id)
{
    switch (id) {
    case ID_COLUMNS:
        return &ctl->columns;
    case ID_IN:
        return &ctl->in;
    case ID_SOCKET:
        return &ctl->socket;
    case ID_SERVICE:
        return &ctl->service;
    case ID_FOLDER:
        return &ctl->folder;
    case ID_CONFIG:
        return &ctl->config;
    case ID_CONTROLLER:
        return &ctl->controller;
    case ID_NODE:
        return &ctl->node;
    case ID_REASON:
        return &ctl->reason;
    default:
        return NULL;
    }
}

static int option_set(struct ctl *ctl, int id, const char *argument)
{
    const char **text = text_of(ctl, id);

    if (text) {
        *text = argument;
        return 0;
    }
    switch (id) {
    case ID_JSON:
        return parse_output("json", ctl);
    case ID_OUTPUT:
        return parse_output(argument, ctl);
    case ID_WATCH:
        ctl->watch = true;
        return 0;
    case ID_BRIEF:
        ctl->brief = true;
        return 0;
    case ID_NO_HEADER:
        ctl->no_header = true;
        return 0;
    case ID_VERBOSE:
        ctl->verbose = true;
        return 0;
    case ID_HELP:
        ctl->help = true;
        return 0;
    case ID_PORTS:
        ctl->ports = true;
        return 0;
    case ID_RUNNING:
        ctl->running = true;
        return 0;
    case ID_WRITE:
        ctl->write = true;
        return 0;
    case ID_NO_WAIT:
        ctl->no_wait = true;
        return 0;
    case ID_FOR:
        ctl->announce_for = argument;
        return parse_duration(argument, &(int64_t){ 0 });
    case ID_ASN:
        return parse_asn(argument, &ctl->asn);
    case ID_PEER_ASN:
        return parse_asn(argument, &ctl->peer_asn);
    case ID_CODE:
        return parse_code(argument, &ctl->code);
    case ID_LIMIT:
        return parse_limit(argument, &ctl->limit);
    case ID_TIMEOUT:
        return parse_duration(argument, &ctl->timeout_ms);
    case ID_WAIT:
        return parse_duration(argument, &ctl->wait_ms);
    case ID_COLOR:
        return parse_color(argument, &ctl->color_when);
    default:
        return EXIT_USAGE;
    }
}

static unsigned option_verbs(int id)
{
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].id == id)
            return option_rows[i].verbs;
    return OPTION_COMMON;
}

int options_parse(int argc, char **argv, struct ctl *ctl, int *ret_first, unsigned *ret_given)
{
    struct option options[ARRAY_SIZE(option_rows) + 1] = { 0 };
    unsigned given = 0;
    int id;

    for (size_t i = 0; i < option_row_count; i++) {
        options[i].name = option_rows[i].name;
        options[i].has_arg = option_rows[i].argument ? required_argument : no_argument;
        options[i].val = option_rows[i].id;
    }
    while ((id = getopt_long(argc, argv, ":c:f:o:vwh", options, NULL)) != -1) {
        if (id == ':')
            return usage_error("a value is missing after", argv[optind - 1]);
        if (id == '?')
            return usage_error("unknown option", argv[optind - 1]);
        int r = option_set(ctl, id, optarg);
        if (r != 0)
            return r;
        given |= option_verbs(id);
    }
    *ret_first = optind;
    *ret_given = given | (ctl->wide ? OPTION_WIDE : 0) | (ctl->names ? OPTION_NAMES : 0);
    return 0;
}

const char *option_name(unsigned options)
{
    static const struct {
        unsigned option;
        const char *name;
    } names[] = {
        { OPTION_WAIT, "--wait" },       { OPTION_VERBOSE, "--verbose" },
        { OPTION_FOLDER, "--folder" },   { OPTION_CONFIG, "--config" },
        { OPTION_NODE, "--node" },       { OPTION_NO_WAIT, "--no-wait" },
        { OPTION_WRITE, "--write" },     { OPTION_WATCH, "--watch" },
        { OPTION_BRIEF, "--brief" },     { OPTION_COLUMNS, "--columns" },
        { OPTION_WIDE, "-o wide" },      { OPTION_NAMES, "-o name" },
        { OPTION_SERVICE, "--service" }, { OPTION_LIMIT, "--limit" },
        { OPTION_IN, "--in" },           { OPTION_PORTS, "--ports" },
        { OPTION_REASON, "--reason" },   { OPTION_FOR, "--for" },
        { OPTION_ASN, "--asn" },         { OPTION_CONTROLLER, "--controller" },
        { OPTION_CODE, "--code" },       { OPTION_RUNNING, "--running" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (names[i].option & options)
            return names[i].name;
    return "";
}

void options_settle(struct ctl *ctl)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if (ctl->color_when != COLOR_AUTO)
        ctl->color = ctl->color_when == COLOR_ALWAYS;
    else if ((no_color && *no_color) || (term && strcmp(term, "dumb") == 0))
        ctl->color = false;
    else
        ctl->color = isatty(STDOUT_FILENO);
    const bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    ctl->mid = utf8 ? "·" : "-";
    ctl->ellipsis = utf8 ? "…" : "...";
}

/* The forms of output that the verb has; all of them in the summary. */
static const char *help_of(const struct option_row *row, unsigned options)
{
    if (row->id != ID_OUTPUT || options & OPTION_NAMES)
        return row->help;
    return options & OPTION_WIDE ? "wide, or json" : "json";
}

static void print_option(FILE *stream, const struct option_row *row, unsigned options)
{
    char left[40];

    (void)snprintf(left, sizeof(left), "%c%c --%s%s%s", row->id < 256 ? '-' : ' ',
                   row->id < 256 ? row->id : ' ', row->name, row->argument ? "=" : "",
                   row->argument ? row->argument : "");
    fprintf(stream, "  %-22s %s\n", left, help_of(row, options));
}

void options_help(FILE *stream, unsigned options)
{
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].verbs & options & ~OPTIONS_USUAL)
            print_option(stream, &option_rows[i], options);
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].verbs == OPTION_COMMON || option_rows[i].verbs & options & OPTIONS_USUAL)
            print_option(stream, &option_rows[i], options);
}
