// SPDX-License-Identifier: Apache-2.0
/*
 * agentctl, the operator's command: one table of verbs is dispatch, --help and order.
 *
 * It links no part of the daemon that acts. Verbs that ask go through answer.c; `plan` and
 * `config check` need no daemon.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "agentctl/ctl.h"
#include "agentctl/options.h"
#include "agentctl/output.h"
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

static const struct verb verbs[] = {
    { "See", "status", "", "health on one screen; the default", 0, 0, OPTION_WAIT | OPTION_VERBOSE,
      verb_status },
    { "See", "faults", "", "what is wrong, since when, and what to do", 0, 0, 0, verb_faults },
    { "See", "explain", "ADDRESS", "one address: objects, plan, kernel", 1, 1, 0, verb_explain },
    { "See", "diff", "", "wanted against installed", 0, 0, 0, verb_diff },
    { "List", "routes", "", "every prefix, announced or not, and why", 0, 0, 0, verb_routes },
    { "List", "services", "", "services and what became of their addresses", 0, 0, 0,
      verb_services },
    { "List", "peers", "", "BIRD's BGP sessions", 0, 0, 0, verb_peers },
    { "List", "blocks", "", "pod blocks of this node", 0, 0, 0, verb_blocks },
    { "Check", "plan", "-f DIR", "the tables that manifests lead to; needs no agent", 0, 0,
      OPTION_FOLDER | OPTION_CONFIG | OPTION_NODE, verb_plan },
    { "Check", "config check", "[FILE]", "every error of a configuration; needs no agent", 0, 1, 0,
      verb_config_check },
    { "Act", "drain", "", "announce as draining, then withdraw", 0, 0, OPTION_NO_WAIT, verb_drain },
    { "Act", "withdraw", "", "withdraw this node's service addresses at once", 0, 0, 0,
      verb_withdraw },
    { "Act", "undrain", "", "announce them again", 0, 0, 0, verb_undrain },
    { "Act", "cleanup", "", "with agentd stopped: remove all that is ours", 0, 0, OPTION_CONFIG,
      verb_cleanup },
    { "Help", "version", "", "the version of this command", 0, 0, 0, verb_version },
    { "Help", "help", "", "this text", 0, 0, 0, verb_help },
};

static int verb_help(const struct ctl *ctl, char **args)
{
    const char *group = "";
    char left[32];

    (void)ctl;
    (void)args;
    printf("Usage: agentctl [OPTIONS] [VERB] [ARGUMENTS]\n\n");
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        const struct verb *verb = &verbs[i];
        bool first = strcmp(verb->group, group) != 0;
        (void)snprintf(left, sizeof(left), "%s %s", verb->name, verb->args);
        printf("%-6s %-20s %s\n", first ? verb->group : "", left, verb->help);
        group = verb->group;
    }
    printf("\n");
    options_help(stdout);
    printf("\nExit status: 0 good, 1 degraded, different or invalid, 2 failed, 3 no agent,\n"
           "4 no such object, 64 usage, 77 no permission\n"
           "\nExample: agentctl routes --json | jq '.items[] | select(.state == \"withheld\")'\n");
    return EXIT_OK;
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

static const struct verb *verb_find(char **words, int *ret_used)
{
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        int used = words_of(&verbs[i], words);
        if (used > 0) {
            *ret_used = used;
            return &verbs[i];
        }
    }
    return NULL;
}

static int verb_call(const struct verb *verb, const struct ctl *ctl, unsigned given, int count,
                     char **args)
{
    unsigned odd = given & ~verb->options;

    if (odd) {
        fprintf(stderr, "agentctl: %s has no option --%s (see agentctl --help)\n", verb->name,
                option_name(odd));
        return EXIT_USAGE;
    }
    if (count < verb->min_args || count > verb->max_args) {
        fprintf(stderr, "agentctl: usage: agentctl %s%s%s\n", verb->name, *verb->args ? " " : "",
                verb->args);
        return EXIT_USAGE;
    }
    return verb->run(ctl, args);
}

static int run(int argc, char **argv)
{
    static char status[] = "status";
    char *default_words[] = { status, NULL };
    struct ctl ctl = {
        .socket = "/run/fingerpost/agentd.sock",
        .timeout_ms = 5000,
        .wait_ms = -1,
    };
    unsigned given = 0;
    int first = 0, used = 0;

    int r = options_parse(argc, argv, &ctl, &first, &given);
    if (r != 0)
        return r;
    options_settle(&ctl);
    if (ctl.help)
        return verb_help(&ctl, NULL);

    char **words = first < argc ? argv + first : default_words;
    int count = first < argc ? argc - first : 1;
    const struct verb *verb = verb_find(words, &used);
    if (!verb) {
        fprintf(stderr, "agentctl: unknown verb '%s' (see agentctl --help)\n", words[0]);
        return EXIT_USAGE;
    }
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
