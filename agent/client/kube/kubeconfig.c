// SPDX-License-Identifier: Apache-2.0
/*
 * Reads a kubeconfig: the current context, and of it the cluster and the user. Called by agentd.
 *
 * The keys of a cluster and of a user are tables. A key that is in no table is an error: each
 * affects how to connect or how to authenticate, and an agent that ignored `exec` would connect as
 * an anonymous user. The rest of the file (other contexts, preferences, extensions) is ignored.
 *
 * No message ever repeats a value that may be a secret.
 */
#include "client/kube/kubeconfig.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/text.h"
#include "client/kube/kubeconfig_check.h"
#include "faults/kubeconfig.h"
#include "faults/raise.h"
#include "format/quote.h"
#include "format/reader.h"

/* The state of one reading. Errors are added to the list; a lack of memory is sticky. */
struct reading {
    const struct document *document;
    const char *path;
    struct kube_config *config;
    struct faults *errors;
    bool failed, no_memory;
};

enum field_type {
    FIELD_TEXT,
    FIELD_PATH, /* relative to the folder of the kubeconfig */
    FIELD_DATA, /* base64 of PEM */
    FIELD_BOOL,
    FIELD_IGNORED,
};

struct field {
    const char *key; /* NULL ends a table */
    enum field_type type;
    size_t offset; /* in struct kube_config */
};

#define AT(member) offsetof(struct kube_config, member)

static const struct field cluster_fields[] = {
    { "server", FIELD_TEXT, AT(server) },
    { "certificate-authority", FIELD_PATH, AT(ca_file) },
    { "certificate-authority-data", FIELD_DATA, AT(ca_data) },
    { "tls-server-name", FIELD_TEXT, AT(tls_server_name) },
    { "insecure-skip-tls-verify", FIELD_BOOL, AT(insecure) },
    { "proxy-url", FIELD_TEXT, AT(proxy_url) },
    { "disable-compression", FIELD_IGNORED },
    { "extensions", FIELD_IGNORED },
    { NULL },
};

static const struct field user_fields[] = {
    { "client-certificate", FIELD_PATH, AT(cert_file) },
    { "client-certificate-data", FIELD_DATA, AT(cert_data) },
    { "client-key", FIELD_PATH, AT(key_file) },
    { "client-key-data", FIELD_DATA, AT(key_data) },
    { "token", FIELD_TEXT, AT(token) },
    { "tokenFile", FIELD_PATH, AT(token_file) },
    { "extensions", FIELD_IGNORED },
    { NULL },
};

/* The string of a field; NULL where it is absent, empty or wrong. */
static const char *read_text(struct reading *reading, const struct doc *node)
{
    const char *text = NULL;
    if (doc_string(reading->document, node, &text, reading->errors) < 0)
        reading->failed = true;
    return text && *text ? text : NULL;
}

static void keep(struct reading *reading, char **field, char *value)
{
    if (!value)
        reading->no_memory = true;
    free(*field);
    *field = value;
}

static void keep_path(struct reading *reading, char **field, const char *text)
{
    const char *slash = strrchr(reading->path, '/');
    if (*text == '/' || !slash)
        keep(reading, field, strdup(text));
    else
        keep(reading, field,
             text_format("%.*s/%s", (int)(slash - reading->path), reading->path, text));
}

static void keep_data(struct reading *reading, const struct doc *node, char **field,
                      const char *text)
{
    size_t size;
    AUTOFREE char *bytes = NULL;
    int r = base64_decode(text, &bytes, &size);
    if (r == -ENOMEM)
        reading->no_memory = true;
    else if (r < 0 || strlen(bytes) != size || !strstr(bytes, "-----BEGIN ")) {
        reading->failed = true;
        doc_raise(reading->document, node, reading->errors, kubeconfig_data_malformed);
    } else
        keep(reading, field, TAKE_PTR(bytes));
}

static void read_field(struct reading *reading, const struct field *field, const struct doc *node)
{
    void *value = (char *)reading->config + field->offset;
    if (field->type == FIELD_IGNORED)
        return;
    if (field->type == FIELD_BOOL) {
        if (doc_bool(reading->document, node, value, reading->errors) < 0)
            reading->failed = true;
        return;
    }
    const char *text = read_text(reading, node);
    if (!text)
        return;
    if (field->type == FIELD_TEXT)
        keep(reading, value, strdup(text));
    else if (field->type == FIELD_PATH)
        keep_path(reading, value, text);
    else
        keep_data(reading, node, value, text);
}

/* Whether a key is another way to authenticate. */
static bool is_credential(const char *key)
{
    static const char *const credentials[] = { "exec", "auth-provider", "username", "password" };
    for (size_t i = 0; i < ARRAY_SIZE(credentials); i++) {
        if (strcmp(credentials[i], key) == 0)
            return true;
    }
    return false;
}

static void refuse_key(struct reading *reading, const struct doc *member)
{
    reading->failed = true;
    if (is_credential(member->key))
        doc_raise_key(reading->document, member, reading->errors, kubeconfig_credential_unsupported,
                      .key = member->key);
    else
        doc_raise_key(reading->document, member, reading->errors, kubeconfig_key_unsupported,
                      .key = member->key);
}

static void read_fields(struct reading *reading, const struct field *fields, const struct doc *map)
{
    doc_each(member, map) {
        const struct field *field = fields;
        while (field->key && strcmp(field->key, member->key) != 0)
            field++;
        if (field->key)
            read_field(reading, field, member);
        else if (member->type != DOC_NULL)
            refuse_key(reading, member);
    }
}

/*
 * Finds the element of a list whose name is the value of `key`; returns the part of it that has the
 * content.
 */
static const struct doc *find_named(struct reading *reading, const char *list, const char *key,
                                    const char *name, const char *part)
{
    char shown[QUOTE_LEN];
    const struct doc *nodes = doc_get(reading->document->root, list);
    if (doc_expect(reading->document, nodes, DOC_LIST, reading->errors) < 0) {
        reading->failed = true;
        return NULL;
    }
    const struct doc *named = NULL;
    doc_each(node, nodes) {
        const char *found = read_text(reading, doc_get(node, "name"));
        if (!found || strcmp(found, name) != 0)
            continue;
        if (named) {
            reading->failed = true;
            doc_raise(reading->document, node, reading->errors, kubeconfig_entry_repeated,
                      .name = quote(name, shown));
            return NULL;
        }
        named = node;
    }
    const struct doc *content = doc_get(named, part);
    if (!named)
        doc_raise(reading->document, nodes, reading->errors, kubeconfig_entry_missing,
                  .name = quote(name, shown), .giver = key);
    else if (doc_expect(reading->document, content, DOC_MAP, reading->errors) >= 0)
        return content;
    reading->failed = true;
    return NULL;
}

static void read_context(struct reading *reading)
{
    const char *name = read_text(reading, doc_get(reading->document->root, "current-context"));
    if (!name) {
        reading->failed = true;
        doc_raise(reading->document, NULL, reading->errors, kubeconfig_context_missing);
        return;
    }
    const struct doc *context = find_named(reading, "contexts", "current-context", name, "context");
    const char *cluster = read_text(reading, doc_get(context, "cluster"));
    const char *user = read_text(reading, doc_get(context, "user"));
    if (cluster)
        read_fields(reading, cluster_fields,
                    find_named(reading, "clusters", "the context's cluster", cluster, "cluster"));
    else if (!reading->failed) {
        reading->failed = true;
        doc_raise(reading->document, context, reading->errors, kubeconfig_cluster_missing);
    }
    if (user)
        read_fields(reading, user_fields,
                    find_named(reading, "users", "the context's user", user, "user"));
}

int kube_config_load(const char *path, struct kube_config **ret_config, struct faults *errors)
{
    CLEANUP(document_freep) struct document *document = NULL;
    int r = document_read(path, READER_YAML, &document, errors);
    if (r < 0)
        return r;
    if (r == 0 || document->root->type != DOC_MAP) {
        fault_raise(errors, path, kubeconfig_malformed);
        return -EBADMSG;
    }
    CLEANUP(kube_config_freep) struct kube_config *config = calloc(1, sizeof(*config));
    if (!config)
        return -ENOMEM;
    struct reading reading = {
        .document = document, .path = path, .config = config, .errors = errors
    };
    read_context(&reading);
    if (reading.no_memory)
        return -ENOMEM;
    if (reading.failed || !kube_config_check(config, path, errors))
        return -EBADMSG;
    *ret_config = TAKE_PTR(config);
    return 0;
}

int kube_config_in_cluster(const char *folder, struct kube_config **ret_config,
                           struct faults *errors)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    if (!host || !*host || !port || !*port) {
        fault_raise(errors, "source.kubernetes", kubeconfig_needed);
        return -EBADMSG;
    }
    CLEANUP(kube_config_freep) struct kube_config *config = calloc(1, sizeof(*config));
    if (!config)
        return -ENOMEM;
    config->server =
        text_format(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
    config->ca_file = text_format("%s/ca.crt", folder);
    config->token_file = text_format("%s/token", folder);
    if (!config->server || !config->ca_file || !config->token_file)
        return -ENOMEM;
    *ret_config = TAKE_PTR(config);
    return 0;
}

bool kube_config_address(const struct kube_config *config, struct ip *ret_ip)
{
    char host[IP_STRLEN];
    const char *begin = strstr(config->server, "://");
    begin = begin ? begin + 3 : config->server;
    const bool bracket = *begin == '[';
    begin += bracket;
    const size_t length = strcspn(begin, bracket ? "]" : ":/");
    if (length >= sizeof(host))
        return false;
    memcpy(host, begin, length);
    host[length] = '\0';
    return ip_parse(host, ret_ip) == 0;
}

void kube_config_free(struct kube_config *config)
{
    if (!config)
        return;
    char *const owned[] = { config->server,          config->ca_data,   config->ca_file,
                            config->cert_data,       config->cert_file, config->key_data,
                            config->key_file,        config->token,     config->token_file,
                            config->tls_server_name, config->proxy_url };
    for (size_t i = 0; i < sizeof(owned) / sizeof(*owned); i++)
        free(owned[i]);
    free(config);
}
