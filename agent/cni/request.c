// SPDX-License-Identifier: Apache-2.0
/*
 * Reads what a runtime asks; see request.h.
 *
 * Which variables a command needs, and what they may hold, is the CNI specification's, 1.1.0; that
 * an unknown key of CNI_ARGS is an error without "IgnoreUnknown=1" is what the reference plugins
 * do. The configuration may have members that are not known here: they are for other plugins, or
 * for the runtime. Only `ipam` is refused, since who writes it expects it to give the addresses.
 */
#include "cni/request.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/macro.h"
#include "base/text.h"
#include "format/reader.h"

enum { NEEDS_CONTAINER = 1, NEEDS_NETNS = 2, NEEDS_POD = 4 };

static const struct {
    const char *name;
    unsigned needs;
} commands[CNI_COMMANDS] = {
    [CNI_ADD] = { "ADD", NEEDS_CONTAINER | NEEDS_NETNS | NEEDS_POD },
    [CNI_DEL] = { "DEL", NEEDS_CONTAINER },
    [CNI_CHECK] = { "CHECK", NEEDS_CONTAINER | NEEDS_NETNS },
    [CNI_GC] = { "GC", 0 },
    [CNI_STATUS] = { "STATUS", 0 },
    [CNI_VERSION] = { "VERSION", 0 },
};

static const char by_runtime[] = "it is the container runtime that sets it: see its log";
static const char in_conflist[] = "correct the network configuration (docs/pods.md)";

static const char *or_empty(const char *value)
{
    return value ? value : "";
}

static int read_command(const char *word, struct cni_request *request, struct cni_error *error)
{
    for (unsigned i = 0; i < CNI_COMMANDS; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            request->command = (enum cni_command)i;
            return 0;
        }
    }
    return cni_fail(error, CNI_BAD_ENVIRONMENT,
                    "agent-cni is run by a container runtime; by hand: agent-cni install",
                    "CNI_COMMAND: \"%.32s\" is no command", word);
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Of containers and networks: letters, digits, and behind the first one also "_", "." and "-". */
static bool is_name(const char *name)
{
    if (!is_alnum(*name))
        return false;
    for (const char *c = name; *c; c++)
        if (!is_alnum(*c) && !strchr("_.-", *c))
            return false;
    return strlen(name) <= CNI_CONTAINER_LENGTH;
}

/* What the kernel takes as a link's name. */
static bool is_interface(const char *name)
{
    if (!*name || strlen(name) > CNI_INTERFACE_LENGTH || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0)
        return false;
    for (const char *c = name; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == '/' || *c == ':')
            return false;
    return true;
}

static int check_environment(const struct cni_request *request, unsigned needs,
                             struct cni_error *error)
{
    if ((needs & NEEDS_CONTAINER) && !is_name(request->container))
        return cni_fail(error, CNI_BAD_ENVIRONMENT, by_runtime,
                        "CNI_CONTAINERID: \"%.64s\" is no name of a container", request->container);
    if ((needs & NEEDS_CONTAINER) && !is_interface(request->interface))
        return cni_fail(error, CNI_BAD_ENVIRONMENT, by_runtime,
                        "CNI_IFNAME: \"%.64s\" is no name of an interface", request->interface);
    if ((needs & NEEDS_NETNS) && request->netns[0] != '/')
        return cni_fail(error, CNI_BAD_ENVIRONMENT, by_runtime,
                        "CNI_NETNS: \"%.64s\" is no path of a network namespace", request->netns);
    return 0;
}

/* Where the value of a key of CNI_ARGS goes; NULL: the key is not known. */
static const char **place_of(struct cni_request *request, const char *key, const char **ret_ignored)
{
    if (strcmp(key, "K8S_POD_NAMESPACE") == 0)
        return &request->pod_namespace;
    if (strcmp(key, "K8S_POD_NAME") == 0)
        return &request->pod_name;
    if (strcmp(key, "K8S_POD_UID") == 0)
        return &request->pod_uid;
    if (strcmp(key, "K8S_POD_INFRA_CONTAINER_ID") == 0 || strcmp(key, "IgnoreUnknown") == 0)
        return ret_ignored;
    return NULL;
}

static bool ignores_unknown(const char *args)
{
    static const char *const words[] = { "IgnoreUnknown=1", "IgnoreUnknown=true" };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        const char *found = strstr(args, words[i]);
        size_t length = strlen(words[i]);
        if (found && (found == args || found[-1] == ';') &&
            (found[length] == ';' || found[length] == '\0'))
            return true;
    }
    return false;
}

/* "KEY=VALUE;KEY=VALUE", which is cut in place. */
static int read_args(struct cni_request *request, struct cni_error *error)
{
    const bool ignore = ignores_unknown(request->args);
    const char *ignored = NULL;
    char *rest = request->args, *pair;
    while ((pair = strsep(&rest, ";"))) {
        if (!*pair)
            continue;
        char *value = strchr(pair, '=');
        if (!value)
            return cni_fail(error, CNI_BAD_ENVIRONMENT, by_runtime,
                            "CNI_ARGS: \"%.64s\" is no KEY=VALUE", pair);
        *value++ = '\0';
        const char **place = place_of(request, pair, &ignored);
        if (!place && !ignore)
            return cni_fail(error, CNI_BAD_ENVIRONMENT, by_runtime,
                            "CNI_ARGS: %.64s is not known, and IgnoreUnknown=1 is not set", pair);
        if (place)
            *place = value;
    }
    return 0;
}

static int read_environment(const struct cni_environment *environment, struct cni_request *request,
                            struct cni_error *error)
{
    const unsigned needs = commands[request->command].needs;
    request->container = or_empty(environment->container);
    request->interface = or_empty(environment->interface);
    request->netns = or_empty(environment->netns);
    int r = check_environment(request, needs, error);
    if (r < 0)
        return r;
    request->args = strdup(or_empty(environment->args));
    if (!request->args)
        return cni_fail(error, CNI_INTERNAL, "free memory on the node", "no memory");
    r = read_args(request, error);
    if (r < 0)
        return r;
    if ((needs & NEEDS_POD) && (!*request->pod_namespace || !*request->pod_name))
        r = cni_fail(error, CNI_BAD_ENVIRONMENT, by_runtime,
                     "CNI_ARGS: K8S_POD_NAMESPACE and K8S_POD_NAME are not both there");
    return r;
}

/* Turns the first of the faults into an error. */
static int fail_by(const struct faults *faults, enum cni_code code, struct cni_error *error)
{
    if (faults->list.count == 0)
        return cni_fail(error, CNI_INTERNAL, "free memory on the node", "no memory");
    const struct fault *fault = &faults->list.items[0];
    return cni_fail(error, code, fault->remedy ? fault->remedy : in_conflist, "%s: %s",
                    fault->place, fault->message);
}

static int parse_config(const char *config, size_t size, struct cni_request *request,
                        struct cni_error *error)
{
    AUTOFAULTS struct faults faults = { 0 };
    int r = document_parse(config, size, "network configuration", READER_JSON, &request->config,
                           &faults);
    if (r == 0)
        return cni_fail(error, CNI_NOT_DECODED, in_conflist, "network configuration: it is empty");
    if (r < 0)
        return fail_by(&faults, CNI_NOT_DECODED, error);
    if (request->config->root->type != DOC_MAP)
        return cni_fail(error, CNI_NOT_DECODED, in_conflist,
                        "network configuration: it is no object");
    return 0;
}

/* Until the version is known, errors are in the newest one. */
static int read_version(struct cni_request *request, struct cni_error *error)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct doc *node = doc_get(request->config->root, "cniVersion");
    const char *name = request->command == CNI_VERSION ? request->version->name : "0.1.0";
    if (doc_string(request->config, node, &name, &faults) < 0)
        return fail_by(&faults, CNI_BAD_CONFIGURATION, error);
    request->asked_version = name;
    if (request->command == CNI_VERSION)
        return 0;
    const struct cni_version *version = cni_version_find(name);
    if (!version)
        return cni_fail(error, CNI_VERSION_NOT_SPOKEN,
                        "write a cniVersion from 0.3.1 to 1.1.0 into the network configuration",
                        "network configuration: cniVersion %.32s is not spoken", name);
    request->version = version;
    if ((request->command == CNI_CHECK && !version->check) ||
        ((request->command == CNI_GC || request->command == CNI_STATUS) && !version->gc))
        return cni_fail(error, CNI_VERSION_NOT_SPOKEN,
                        "write a newer cniVersion into the network configuration",
                        "network configuration: cniVersion %s has no %s", version->name,
                        commands[request->command].name);
    return 0;
}

static int check_socket(const char *socket, struct cni_error *error)
{
    const size_t limit = sizeof(((struct sockaddr_un *)NULL)->sun_path);
    if (socket[0] == '/' && strlen(socket) < limit)
        return 0;
    return cni_fail(error, CNI_BAD_CONFIGURATION, in_conflist,
                    "network configuration: socket: \"%.64s\" is no path of at most %zu bytes",
                    socket, limit - 1);
}

/* As doc_get(), also of what is null. */
static const struct doc *find_member(const struct doc *map, const char *key)
{
    doc_each(member, map) {
        if (strcmp(member->key, key) == 0)
            return member;
    }
    return NULL;
}

static int read_members(struct cni_request *request, struct cni_error *error)
{
    AUTOFAULTS struct faults faults = { 0 };
    const struct document *config = request->config;
    const char *name = "";
    request->socket = CNI_DEFAULT_SOCKET;
    if (doc_string(config, doc_get(config->root, "name"), &name, &faults) < 0 ||
        doc_string(config, doc_get(config->root, "socket"), &request->socket, &faults) < 0 ||
        doc_bool(config, doc_get(config->root, "egressOnly"), &request->egress_only, &faults) < 0)
        return fail_by(&faults, CNI_BAD_CONFIGURATION, error);
    if (!is_name(name))
        return cni_fail(error, CNI_BAD_CONFIGURATION, in_conflist,
                        "network configuration: name: \"%.64s\" is no name of a network", name);
    if (doc_get(doc_get(config->root, "ipam"), "type"))
        return cni_fail(error, CNI_UNSUPPORTED_FIELD,
                        "remove ipam: agentd gives addresses from this node's blocks",
                        "network configuration: ipam is not used by agent-cni");
    request->previous = doc_get(config->root, "prevResult");
    request->network = name;
    request->live = find_member(config->root, "cni.dev/valid-attachments");
    return check_socket(request->socket, error);
}

/* Whether a member is nearly one of ours: none of the runtime's and of other plugins' is. */
static bool is_misspelt(const char *key, const char *ours)
{
    enum { WRONG_LETTERS = 2 };
    return strcmp(key, ours) != 0 &&
           (text_distance(key, ours) <= WRONG_LETTERS || strcasecmp(key, ours) == 0 ||
            strncasecmp(key, ours, strlen(ours)) == 0);
}

/* A socket that is misspelt would be the default one, and its agent another. Where a pod goes,
 * nothing of this keeps it. */
static int check_spelling(const struct cni_request *request, struct cni_error *error)
{
    static const char *const ours[] = { "egressOnly", "socket" };
    if (request->command != CNI_ADD && request->command != CNI_STATUS)
        return 0;
    doc_each(member, request->config->root) {
        for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
            if (is_misspelt(member->key, ours[i]))
                return cni_fail(error, CNI_UNSUPPORTED_FIELD, in_conflist,
                                "network configuration: unknown key \"%.32s\"; did you mean "
                                "\"%s\"?",
                                member->key, ours[i]);
        }
    }
    return 0;
}

/* What the runtime asks for by a capability that the list says we have. A pod without it would be
 * another one than was wanted. */
static int check_capabilities(const struct cni_request *request, struct cni_error *error)
{
    static const char *const others[] = { "bandwidth", "ipRanges", "ips", "mac", "portMappings" };
    const struct doc *asked = doc_get(request->config->root, "runtimeConfig");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        const struct doc *node = doc_get(asked, others[i]);
        if (request->command == CNI_ADD && node && (node->type != DOC_LIST || node->count > 0))
            return cni_fail(error, CNI_UNSUPPORTED_FIELD,
                            "take it out of agent-cni's capabilities in the conflist; portMappings "
                            "and bandwidth are those of the plugins portmap and bandwidth, behind "
                            "agent-cni",
                            "network configuration: agent-cni does not do what the runtime asks "
                            "for: %s",
                            others[i]);
    }
    return 0;
}

/* What a command needs of the configuration. */
static int check_place(const struct cni_request *request, struct cni_error *error)
{
    if (request->command == CNI_GC &&
        (!request->live || (request->live->type != DOC_LIST && request->live->type != DOC_NULL)))
        return cni_fail(error, CNI_BAD_CONFIGURATION, by_runtime,
                        "network configuration: GC without the list cni.dev/valid-attachments");
    if (request->command != CNI_ADD)
        return 0;
    if (request->egress_only && !request->previous)
        return cni_fail(error, CNI_BAD_CONFIGURATION,
                        "put it behind the plugin that makes the interface, or drop egressOnly",
                        "network configuration: egressOnly, and no plugin before agent-cni");
    if (!request->egress_only && request->previous)
        return cni_fail(error, CNI_BAD_CONFIGURATION,
                        "make agent-cni the first plugin, or set \"egressOnly\": true",
                        "network configuration: another plugin before agent-cni made the pod's "
                        "interface");
    return 0;
}

int cni_request_read(const struct cni_environment *environment, const char *config, size_t size,
                     struct cni_request *request, struct cni_error *error)
{
    *request = (struct cni_request){
        .version = cni_version_newest(), .pod_namespace = "", .pod_name = "", .pod_uid = ""
    };
    int r = read_command(or_empty(environment->command), request, error);
    if (r < 0)
        return r;
    r = parse_config(config, size, request, error);
    if (r < 0)
        return r;
    r = read_version(request, error);
    if (r < 0 || request->command == CNI_VERSION)
        return r;
    r = read_environment(environment, request, error);
    if (r < 0)
        return r;
    r = check_spelling(request, error);
    if (r < 0)
        return r;
    r = check_capabilities(request, error);
    if (r < 0)
        return r;
    r = read_members(request, error);
    return r < 0 ? r : check_place(request, error);
}

void cni_request_done(struct cni_request *request)
{
    document_free(request->config);
    free(request->args);
    *request = (struct cni_request){ 0 };
}
