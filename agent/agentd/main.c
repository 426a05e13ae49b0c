// SPDX-License-Identifier: Apache-2.0
/* The daemon's command line, and its exit statuses; docs/man/agentd.8.scd has both. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/agent.h"
#include "agentd/deadman.h"
#include "base/event.h"
#include "client/kube/kubeconfig.h"
#include "config/config.h"

enum {
    EXIT_USAGE = 64,  /* EX_USAGE */
    EXIT_CONFIG = 78, /* EX_CONFIG; the unit has RestartPreventExitStatus=78 */
};

static const char usage[] =
    "Usage: agentd [--config FILE] [--check-config | --deadman]\n"
    "\n"
    "Keeps this node's pod-block and service routes in the kernel for BIRD and, if told to, serves\n"
    "Services in kube-proxy's place.\n"
    "\n"
    "  --config FILE    configuration (default /etc/fingerpost/agentd.yaml)\n"
    "  --check-config   say what is wrong with it, and exit 0 or 78\n"
    "  --deadman        watch over a running agentd: withdraw the service addresses when none has\n"
    "                   been there for routes.deadman\n"
    "  --version        print the version\n"
    "\n"
    "SIGHUP reloads the configuration; SIGTERM stops, and leaves all routes in place.\n"
    "See also: agentctl --help\n";

static int refuse(const char *path, const struct faults *faults, bool starting)
{
    vec_each(const struct fault, fault, &faults->list)
        log_error("%s: %s%s%s", fault->place, fault->message, fault->remedy ? "; " : "",
                  fault->remedy ? fault->remedy : "");
    log_event(&event_config_refused, LOG_FIELDS({ "OBJECT", path }), "%s is refused: %zu error%s%s",
              path, faults->list.count, faults->list.count == 1 ? "" : "s",
              starting ? "; routes and Service NAT stay in the kernel as they are" : "");
    return EXIT_CONFIG;
}

static int load(const char *path, bool check_only, struct config **ret_config,
                struct faults *faults)
{
    int r = config_load(path, ret_config, faults);
    if (r < 0 || !check_only || !(*ret_config)->source.kubeconfig)
        return r;
    return kube_config_try((*ret_config)->source.kubeconfig, faults);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "config", required_argument, NULL, 'c' }, { "check-config", no_argument, NULL, 'k' },
        { "deadman", no_argument, NULL, 'd' },      { "version", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },         { NULL, 0, NULL, 0 },
    };
    const char *path = "/etc/fingerpost/agentd.yaml";
    bool check_only = false, deadman = false;

    for (int c; (c = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
        switch (c) {
        case 'c':
            path = optarg;
            break;
        case 'k':
            check_only = true;
            break;
        case 'd':
            deadman = true;
            break;
        case 'v':
            printf("agentd %s\n", FINGERPOST_VERSION);
            return EXIT_SUCCESS;
        case 'h':
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        default:
            return EXIT_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "agentd: unexpected argument \"%s\"\n", argv[optind]);
        return EXIT_USAGE;
    }

    log_open();
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(config_freep) struct config *config = NULL;
    int r = load(path, check_only, &config, &faults);
    if (r < 0)
        return refuse(path, &faults, !check_only && !deadman);
    if (check_only)
        return EXIT_SUCCESS;
    if (deadman)
        return deadman_run(config) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;

    CLEANUP(agent_freep) struct agent *agent = NULL;
    r = agent_new(path, TAKE_PTR(config), &agent);
    if (r < 0)
        return EXIT_FAILURE;
    return agent_run(agent) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
