// SPDX-License-Identifier: Apache-2.0
/* The controller's command line, and its exit statuses; docs/man/agent-controller.8.scd has both.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/event.h"
#include "controller/controller.h"

enum {
    EXIT_USAGE = 64,  /* EX_USAGE */
    EXIT_CONFIG = 78, /* EX_CONFIG; the unit has RestartPreventExitStatus=78 */
};

static const char usage[] =
    "Usage: agent-controller [--config FILE] [--check-config]\n"
    "\n"
    "Decides what is decided once per cluster. Several may run; one of them leads.\n"
    "\n"
    "  --config FILE    configuration (default /etc/fingerpost/controller.yaml)\n"
    "  --check-config   say what is wrong with it, and exit 0 or 78\n"
    "  --version        print the version\n"
    "\n"
    "SIGHUP starts anew with the configuration as it is then; SIGTERM stops. Both give leadership "
    "away.\n"
    "See also: agentctl controller --help\n";

static int refuse(const char *path, const struct faults *faults)
{
    vec_each(const struct fault, fault, &faults->list)
        log_error("%s: %s%s%s", fault->place, fault->message, fault->remedy ? "; " : "",
                  fault->remedy ? fault->remedy : "");
    log_event(&event_config_refused, LOG_FIELDS({ "OBJECT", path }), "%s is refused: %zu error%s",
              path, faults->list.count, faults->list.count == 1 ? "" : "s");
    return EXIT_CONFIG;
}

static int run(const char *path, struct controller_config *config)
{
    CLEANUP(controller_freep) struct controller *controller = NULL;
    int r = controller_new(path, config, &controller);
    return r < 0 ? r : controller_run(controller);
}

/* With the same arguments, in the same process: the service manager sees no exit. */
static int start_anew(char **argv)
{
    (void)execv("/proc/self/exe", argv);
    log_error("cannot start anew: %s", strerror(errno));
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "config", required_argument, NULL, 'c' },
        { "check-config", no_argument, NULL, 'k' },
        { "version", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    const char *path = "/etc/fingerpost/controller.yaml";
    bool check_only = false;

    for (int c; (c = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
        switch (c) {
        case 'c':
            path = optarg;
            break;
        case 'k':
            check_only = true;
            break;
        case 'v':
            printf("agent-controller %s\n", FINGERPOST_VERSION);
            return EXIT_SUCCESS;
        case 'h':
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        default:
            return EXIT_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "agent-controller: unexpected argument \"%s\"\n", argv[optind]);
        return EXIT_USAGE;
    }

    log_open();
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(controller_config_freep) struct controller_config *config = NULL;
    if (controller_load(path, &config, &faults) < 0)
        return refuse(path, &faults);
    if (check_only)
        return EXIT_SUCCESS;
    int r = run(path, TAKE_PTR(config));
    if (r > 0)
        return start_anew(argv);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
