// SPDX-License-Identifier: Apache-2.0
/*
 * Questions about pods; see pods.h.
 *
 * A plan may take as long as agentd needs to get a block (ten seconds at the most), and `wired` as
 * long as its programs take; the runtime gives up after minutes. STATUS is asked for every few
 * seconds, and shall be answered at once or not at all.
 */
#include "cni/pods.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/text.h"
#include "cni/ask.h"
#include "format/json.h"
#include "format/reader.h"

enum { PLAN_MS = 30 * 1000, WIRED_MS = 30 * 1000, USUAL_MS = 10 * 1000, READY_MS = 2 * 1000 };

static const char try_later[] = "the runtime tries again by itself; see agentctl faults and pods";

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("-._~", c) != NULL;
}

static void add_escaped(struct text *out, const char *word)
{
    for (const char *c = word; *c; c++) {
        if (is_unreserved(*c))
            text_add_char(out, *c);
        else
            text_addf(out, "%%%02X", (unsigned)(unsigned char)*c);
    }
}

/* "/v1/pods/CONTAINER/INTERFACE" and what is behind. The caller frees it; NULL: no memory. */
static char *path_of(const struct cni_request *request, const char *behind)
{
    struct text path = { 0 };
    text_add(&path, "/v1/pods/");
    add_escaped(&path, request->container);
    text_add_char(&path, '/');
    add_escaped(&path, request->interface);
    text_add(&path, behind);
    char *taken = text_take(&path);
    text_done(&path);
    return taken;
}

static int no_answer(const struct cni_request *request, int reason, struct cni_error *error)
{
    struct stat found;
    if (reason == -ECONNREFUSED && stat(request->socket, &found) == 0 && !S_ISSOCK(found.st_mode)) {
        (void)cni_fail(error, CNI_TRY_AGAIN,
                       "name agentd's socket in the network configuration: agentd.sock below "
                       "paths.run of agentd.yaml",
                       "%s: is no socket", request->socket);
        return -ENOTCONN;
    }
    if (reason == -ENOENT || reason == -ECONNREFUSED) {
        (void)cni_fail(error, CNI_TRY_AGAIN,
                       "start it (systemctl start agentd), or correct socket in the network "
                       "configuration",
                       "%s: agentd is not running: %s", request->socket, strerror(-reason));
        return -ENOTCONN;
    }
    if (reason == -ECONNRESET) {
        (void)cni_fail(error, CNI_TRY_AGAIN, try_later, "%s: agentd has ended meanwhile",
                       request->socket);
        return -ENOTCONN;
    }
    if (reason == -ETIMEDOUT)
        return cni_fail(error, CNI_TRY_AGAIN, try_later, "%s: agentd does not answer in time",
                        request->socket);
    return cni_fail(error, CNI_IO_FAILURE, "see the log of agentd (journalctl -u agentd)",
                    "%s: agentd gives no answer: %s", request->socket, strerror(-reason));
}

/* An agentd that began anew between plan and `wired` may have seen nothing of it yet. */
static enum cni_code code_of(long status, bool read)
{
    if (status == 503 || status == 504)
        return CNI_TRY_AGAIN;
    if (status == 404)
        return read ? CNI_UNKNOWN_CONTAINER : CNI_TRY_AGAIN;
    return CNI_REFUSED;
}

/* {"error": "...", "remedy": "..."}. With 503 agentd is as good as away: it begins, or ends. */
static int refused(long status, bool read, const char *body, struct cni_error *error)
{
    AUTOFAULTS struct faults faults = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    const char *words = "without a word", *remedy = try_later;
    if (document_parse(body, strlen(body), "answer", READER_JSON, &document, &faults) > 0) {
        (void)doc_string(document, doc_get(document->root, "error"), &words, &faults);
        (void)doc_string(document, doc_get(document->root, "remedy"), &remedy, &faults);
    }
    int r =
        cni_fail(error, code_of(status, read), remedy, "agentd refuses (%ld): %s", status, words);
    return status == 503 ? -ENOTCONN : r;
}

/* Asks; *ret_body (may be NULL) is what a 200 brought, which the caller frees. */
static int call(const struct cni_request *request, const struct question *question, char **ret_body,
                struct cni_error *error)
{
    AUTOFREE char *body = NULL;
    long status = 0;
    if (!question->path)
        return cni_fail(error, CNI_INTERNAL, "free memory on the node", "no memory");
    int r = ask(request->socket, question, &status, &body);
    if (r < 0)
        return no_answer(request, r, error);
    if (status != 200)
        return refused(status, strcmp(question->method, "GET") == 0, body, error);
    if (ret_body)
        *ret_body = TAKE_PTR(body);
    return 0;
}

/* The body of the question for a plan; `addresses` is NULL where agentd shall give them. */
static void write_pod(struct text *out, const struct cni_request *request, const ip_list *addresses,
                      bool with_network)
{
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_string(&json, "namespace", request->pod_namespace);
    json_string(&json, "name", request->pod_name);
    json_string(&json, "uid", request->pod_uid);
    json_string(&json, "sandbox", request->container);
    if (with_network)
        json_string(&json, "network", request->network);
    json_bool(&json, "egressOnly", addresses != NULL);
    if (addresses) {
        char buffer[IP_STRLEN];
        json_begin_array(&json, "addresses");
        vec_each(const struct ip, it, addresses)
            json_string(&json, NULL, ip_str(it, buffer));
        json_end_array(&json);
    }
    json_end_object(&json);
}

static int try_post_pod(const struct cni_request *request, const ip_list *addresses,
                        bool with_network, char **ret_body, struct cni_error *error)
{
    AUTOTEXT struct text document = { 0 };
    AUTOFREE char *path = path_of(request, "");
    write_pod(&document, request, addresses, with_network);
    return call(request, &(struct question){ "POST", path, text_str(&document), PLAN_MS }, ret_body,
                error);
}

/* Whether agentd is of before it kept networks. It takes no member that it does not know. */
static bool knows_no_network(const struct cni_error *error)
{
    return error->code == CNI_REFUSED && strstr(error->message, ": network: unknown member");
}

/* An older agentd keeps no network of the interface, so that it is asked without. */
static int post_pod(const struct cni_request *request, const ip_list *addresses, char **ret_body,
                    struct cni_error *error)
{
    int r = try_post_pod(request, addresses, true, ret_body, error);
    return r < 0 && knows_no_network(error)
               ? try_post_pod(request, addresses, false, ret_body, error)
               : r;
}

int pods_plan(const struct cni_request *request, struct plan *ret_plan, struct cni_error *error)
{
    AUTOFREE char *body = NULL;
    int r = post_pod(request, NULL, &body, error);
    return r < 0 ? r : plan_decode(body, strlen(body), ret_plan, error);
}

int pods_announce(const struct cni_request *request, const ip_list *addresses,
                  struct cni_error *error)
{
    return post_pod(request, addresses, NULL, error);
}

static void write_mac(struct json *json, const char *key, const uint8_t mac[static 6])
{
    json_stringf(json, key, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
                 mac[5]);
}

int pods_wired(const struct cni_request *request, const struct pod_ends *ends,
               struct cni_error *error)
{
    AUTOTEXT struct text document = { 0 };
    AUTOFREE char *path = path_of(request, "/wired");
    struct json json = { .out = &document };
    json_begin_object(&json, NULL);
    json_int(&json, "hostIndex", ends->host_index);
    write_mac(&json, "podMAC", ends->pod_mac);
    write_mac(&json, "hostMAC", ends->host_mac);
    json_end_object(&json);
    return call(request, &(struct question){ "POST", path, text_str(&document), WIRED_MS }, NULL,
                error);
}

int pods_read(const struct cni_request *request, struct plan *ret_plan, struct cni_error *error)
{
    AUTOFREE char *body = NULL;
    AUTOFREE char *path = path_of(request, "");
    int r = call(request, &(struct question){ "GET", path, NULL, USUAL_MS }, &body, error);
    return r < 0 ? r : plan_decode(body, strlen(body), ret_plan, error);
}

int pods_forget(const struct cni_request *request, struct cni_error *error)
{
    AUTOFREE char *path = path_of(request, "");
    return call(request, &(struct question){ "DELETE", path, NULL, USUAL_MS }, NULL, error);
}

/* Of cni.dev/valid-attachments, in agentd's words. One that can't be read must not be lost: all
 * that it stands for would be freed. */
static int write_live(struct text *out, const struct cni_request *request, struct cni_error *error)
{
    AUTOFAULTS struct faults faults = { 0 };
    struct json json = { .out = out };
    json_begin_object(&json, NULL);
    json_string(&json, "network", request->network);
    json_begin_array(&json, "live");
    doc_each(it, request->live) {
        const char *container = NULL, *interface = NULL;
        (void)doc_string(request->config, doc_get(it, "containerID"), &container, &faults);
        (void)doc_string(request->config, doc_get(it, "ifname"), &interface, &faults);
        if (!container || !interface)
            return cni_fail(error, CNI_BAD_CONFIGURATION, "it is the runtime that writes them",
                            "network configuration: cni.dev/valid-attachments[%u]: containerID and "
                            "ifname are wanted",
                            it->index);
        json_begin_object(&json, NULL);
        json_string(&json, "container", container);
        json_string(&json, "interface", interface);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    return text_error(out) == 0
               ? 0
               : cni_fail(error, CNI_INTERNAL, "free memory on the node", "no memory");
}

int pods_collect(const struct cni_request *request, struct cni_error *error)
{
    AUTOTEXT struct text document = { 0 };
    int r = write_live(&document, request, error);
    if (r < 0)
        return r;
    r = call(request, &(struct question){ "POST", "/v1/pods/gc", text_str(&document), USUAL_MS },
             NULL, error);
    /* Without the network it would free those of all others. */
    if (r < 0 && knows_no_network(error))
        snprintf(error->remedy, sizeof(error->remedy),
                 "agentd is older than agent-cni: update it; nothing is freed meanwhile");
    return r;
}

int pods_ready(const struct cni_request *request, struct cni_error *error)
{
    const char *path = request->egress_only ? "/v1/pods/ready/egress" : "/v1/pods/ready";
    return call(request, &(struct question){ "GET", path, NULL, READY_MS }, NULL, error);
}
