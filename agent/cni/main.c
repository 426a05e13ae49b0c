// SPDX-License-Identifier: Apache-2.0
/*
 * agent-cni, the CNI plugin: run by the node's container runtime for each pod that comes or goes,
 * as root, for some milliseconds. Its own command, `agent-cni install`, puts it where runtimes look
 * for plugins.
 *
 * The specification is https://www.cni.dev/docs/spec: the question is in the environment and on
 * standard input, the answer on standard output, and an error is an answer with exit status 1.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/containerd.h"
#include "base/files/file.h"
#include "cni/install.h"
#include "cni/request.h"
#include "cni/verbs.h"

enum { EXIT_USAGE = 64 };

static const char usage[] =
    "usage: agent-cni install [--bin-dir DIR] [--conf-dir DIR] [--conflist FILE]\n"
    "Copies the plugin and the list of plugins to where container runtimes look for them:\n"
    "the folder that containerd's configuration names (bin_dir), else /opt/cni/bin; and\n"
    "/etc/cni/net.d. Otherwise it is run by a container runtime, which sets\n"
    "CNI_COMMAND. See agent-cni(8).\n";

/* All of standard input, NUL-terminated. */
static int read_config(struct text *config, struct cni_error *error)
{
    char buffer[16384];
    for (;;) {
        ssize_t got = read(STDIN_FILENO, buffer, sizeof(buffer));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cni_fail(error, CNI_IO_FAILURE, "see the log of the container runtime",
                            "network configuration: %s", strerror(errno));
        if (got == 0)
            break;
        if (config->length + (size_t)got > CNI_CONFIG_BYTES)
            return cni_fail(error, CNI_NOT_DECODED, "see the log of the container runtime",
                            "network configuration: it is longer than 4 MiB");
        text_add_bytes(config, buffer, (size_t)got);
    }
    if (text_error(config) < 0)
        return cni_fail(error, CNI_INTERNAL, "free memory on the node", "no memory");
    return 0;
}

static int serve(struct cni_request *request, struct text *out, struct cni_error *error)
{
    const struct cni_environment environment = {
        .command = getenv("CNI_COMMAND"),
        .container = getenv("CNI_CONTAINERID"),
        .netns = getenv("CNI_NETNS"),
        .interface = getenv("CNI_IFNAME"),
        .args = getenv("CNI_ARGS"),
    };
    AUTOTEXT struct text config = { 0 };
    int r = read_config(&config, error);
    if (r < 0)
        return r;
    r = cni_request_read(&environment, text_str(&config), config.length, request, error);
    return r < 0 ? r : verb_run(request, out, error);
}

/* A question of the runtime. */
static int answer(void)
{
    CLEANUP(cni_request_done) struct cni_request request = { .version = cni_version_newest() };
    AUTOTEXT struct text out = { 0 };
    struct cni_error error;
    int r = serve(&request, &out, &error);
    if (r < 0) {
        text_truncate(&out, 0);
        cni_error_write(&out, request.version->name, &error);
    }
    if (out.length)
        text_add_char(&out, '\n');
    if (file_write(STDOUT_FILENO, text_str(&out), out.length) < 0)
        return EXIT_FAILURE;
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int install(const struct cni_install *wanted)
{
    struct cni_error error;
    if (cni_install(wanted, &error) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "agent-cni: %s\n%s\n", error.message, error.remedy);
    return EXIT_FAILURE;
}

/* The command of a person, or of an init container. */
static int command(int argc, char **argv)
{
    static const struct option options[] = {
        { "bin-dir", required_argument, NULL, 'b' },  { "conf-dir", required_argument, NULL, 'c' },
        { "conflist", required_argument, NULL, 'l' }, { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'v' },        { NULL, 0, NULL, 0 },
    };
    AUTOFREE char *bin_dir = containerd_bin_dir();
    struct cni_install wanted = { .program = "/proc/self/exe",
                                  .bin_dir = bin_dir ? bin_dir : "/opt/cni/bin",
                                  .conf_dir = "/etc/cni/net.d",
                                  .conflist = FINGERPOST_CONFLIST };
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        switch (c) {
        case 'b':
            wanted.bin_dir = optarg;
            break;
        case 'c':
            wanted.conf_dir = optarg;
            break;
        case 'l':
            wanted.conflist = optarg;
            break;
        case 'v':
            puts("agent-cni " FINGERPOST_VERSION); /* in one piece: agentctl doctor looks for it */
            return EXIT_SUCCESS;
        case 'h':
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        default:
            fputs(usage, stderr);
            return EXIT_USAGE;
        }
    }
    if (optind + 1 == argc && strcmp(argv[optind], "install") == 0)
        return install(&wanted);
    fputs(usage, stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    return argc == 1 && getenv("CNI_COMMAND") ? answer() : command(argc, argv);
}
