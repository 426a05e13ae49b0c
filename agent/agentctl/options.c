// SPDX-License-Identifier: Apache-2.0
/*
 * The options of the command line: one table for parsing and for --help.
 *
 * Options may stand before, between and after the words (GNU getopt permutes). An option that
 * belongs to some verbs only is accepted here for all; main.c refuses it for the others, once the
 * verb is known.
 *
 * Colour, in this order: --color=always or never, NO_COLOR set and not empty, TERM=dumb, whether
 * standard output is a terminal.
 */
#include "agentctl/options.h"

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
    ID_NODE,
    ID_NO_WAIT,
    ID_FOLDER = 'f',
    ID_VERBOSE = 'v',
    ID_HELP = 'h',
};

static const struct {
    int id;
    const char *name, *argument;
    unsigned verbs; /* enum verb_option */
    const char *help;
} table[] = {
    { ID_JSON, "json", NULL, OPTION_COMMON, "print the API's document unchanged" },
    { ID_WAIT, "wait", "DURATION", OPTION_WAIT, "status: return when all seen so far is applied" },
    { ID_VERBOSE, "verbose", NULL, OPTION_VERBOSE, "status: show every fault" },
    { ID_FOLDER, "folder", "DIR", OPTION_FOLDER, "plan: the folder of manifests" },
    { ID_CONFIG, "config", "FILE", OPTION_CONFIG, "plan, cleanup: settings from this file" },
    { ID_NODE, "node", "NAME", OPTION_NODE, "plan: for this node instead of this machine" },
    { ID_NO_WAIT, "no-wait", NULL, OPTION_NO_WAIT, "drain: return at once" },
    { ID_NO_HEADER, "no-header", NULL, OPTION_COMMON, "tables without header and footer" },
    { ID_COLOR, "color", "WHEN", OPTION_COMMON, "auto, always or never" },
    { ID_SOCKET, "socket", "PATH", OPTION_COMMON, "default /run/fingerpost/agentd.sock" },
    { ID_TIMEOUT, "timeout", "DURATION", OPTION_COMMON, "for an answer, default 5s" },
    { ID_HELP, "help", NULL, OPTION_COMMON, "this text" },
};

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
    static const char *const names[] = {
        [COLOR_AUTO] = "auto",
        [COLOR_ALWAYS] = "always",
        [COLOR_NEVER] = "never",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcmp(string, names[i]) == 0) {
            *ret_when = (enum color_when)i;
            return 0;
        }
    }
    return usage_error("--color wants auto, always or never, not", string);
}

static int option_set(struct ctl *ctl, int id, const char *argument)
{
    switch ((enum option_id)id) {
    case ID_JSON:
        ctl->json = true;
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
    case ID_NO_WAIT:
        ctl->no_wait = true;
        return 0;
    case ID_SOCKET:
        ctl->socket = argument;
        return 0;
    case ID_FOLDER:
        ctl->folder = argument;
        return 0;
    case ID_CONFIG:
        ctl->config = argument;
        return 0;
    case ID_NODE:
        ctl->node = argument;
        return 0;
    case ID_TIMEOUT:
        return parse_duration(argument, &ctl->timeout_ms);
    case ID_WAIT:
        return parse_duration(argument, &ctl->wait_ms);
    case ID_COLOR:
        return parse_color(argument, &ctl->color_when);
    }
    return EXIT_USAGE;
}

static unsigned option_verbs(int id)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (table[i].id == id)
            return table[i].verbs;
    return OPTION_COMMON;
}

int options_parse(int argc, char **argv, struct ctl *ctl, int *ret_first, unsigned *ret_given)
{
    struct option options[ARRAY_SIZE(table) + 1] = { 0 };
    unsigned given = 0;
    int id;

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        options[i].name = table[i].name;
        options[i].has_arg = table[i].argument ? required_argument : no_argument;
        options[i].val = table[i].id;
    }
    while ((id = getopt_long(argc, argv, ":f:vh", options, NULL)) != -1) {
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
    *ret_given = given;
    return 0;
}

const char *option_name(unsigned option)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (table[i].verbs & option)
            return table[i].name;
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
    ctl->mid = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "·" : "-";
}

void options_help(FILE *stream)
{
    char left[40];

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const char *argument = table[i].argument;
        (void)snprintf(left, sizeof(left), "%c%c --%s%s%s", table[i].id < 256 ? '-' : ' ',
                       table[i].id < 256 ? table[i].id : ' ', table[i].name, argument ? "=" : "",
                       argument ? argument : "");
        fprintf(stream, "  %-22s %s\n", left, table[i].help);
    }
}
