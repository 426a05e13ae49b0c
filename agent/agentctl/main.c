// SPDX-License-Identifier: Apache-2.0
/*
 * agentctl, the operator's command: from the command line to a verb of verbs.c.
 *
 * It links no part of the daemon that acts, but for `cleanup`. Verbs that ask go through answer.c;
 * those that say so need no daemon.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/complete.h"
#include "agentctl/options.h"
#include "agentctl/output.h"
#include "agentctl/verbs/verbs.h"
#include "agentctl/watch.h"

/* What can't be asked for together. */
static const char *contradiction(const struct ctl *ctl)
{
    if (ctl->watch && ctl->wait_ms >= 0)
        return "--watch and --wait";
    if (ctl->brief && ctl->json)
        return "--brief and --json";
    if (ctl->columns && (ctl->json || ctl->names))
        return "--columns and this form of output";
    return NULL;
}

static int verb_call(const struct verb *verb, const struct ctl *ctl, unsigned given, int count,
                     char **args)
{
    unsigned odd = given & ~verb_options(verb);
    const char *both = contradiction(ctl);

    if (odd) {
        fprintf(stderr, "agentctl: %s has no option %s (see agentctl --help)\n", verb->name,
                option_name(odd));
        return EXIT_USAGE;
    }
    if (both) {
        fprintf(stderr, "agentctl: %s exclude each other\n", both);
        return EXIT_USAGE;
    }
    if (count < verb->min_args || count > verb->max_args) {
        fprintf(stderr, "agentctl: usage: agentctl %s%s%s\n", verb->name, *verb->args ? " " : "",
                verb->args);
        return EXIT_USAGE;
    }
    if (ctl->columns && columns_check(verb->columns, ctl->columns) != EXIT_OK)
        return EXIT_USAGE;
    return ctl->watch ? watch(verb, ctl, args) : verb->run(ctl, args);
}

static int run(int argc, char **argv)
{
    static char status[] = "status", help[] = "help";
    char *default_words[] = { status, NULL }, *help_words[] = { help, NULL };
    struct ctl ctl = {
        .timeout_ms = 5000,
        .wait_ms = -1,
    };
    unsigned given = 0;
    int first = 0, used = 0;

    if (argc > 1 && strcmp(argv[1], "__complete") == 0)
        return complete(argc - 2, argv + 2);
    int r = options_parse(argc, argv, &ctl, &first, &given);
    if (r != 0)
        return r;
    options_settle(&ctl);
    if (ctl.help)
        return verb_find(help_words, &used)->run(&ctl, argv + first);

    char **words = first < argc ? argv + first : default_words;
    int count = first < argc ? argc - first : 1;
    const struct verb *verb = verb_find(words, &used);
    if (!verb)
        return verb_unknown(words[0]);
    ctl.server = verb->server ? verb->server : &server_agent;
    if (!ctl.socket)
        ctl.socket = ctl.server->socket;
    return verb_call(verb, &ctl, given, count - used, words + used);
}

int main(int argc, char **argv)
{
    (void)setlocale(LC_ALL, "");
    int status = run(argc, argv);

    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "agentctl: cannot write to standard output\n");
        return EXIT_FAILED;
    }
    return status;
}
