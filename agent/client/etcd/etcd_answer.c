// SPDX-License-Identifier: Apache-2.0
/*
 * Error messages and remedies for etcd's answers. Called by etcd.c.
 *
 * Errors of etcd are JSON: {"error":"...","code":N,"message":"..."}; the message is reported.
 */
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "client/etcd/etcd_inside.h"
#include "client/kube/kube_refusal.h"
#include "format/reader.h"

static void add_etcd_message(const struct etcd_request *request, struct text *why)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    const struct doc *message = NULL;
    const struct text *answer = &request->exchange.body;
    const char *body = text_str(answer);
    if (document_parse(body, answer->length, "answer", READER_JSON, &document, &faults) == 1)
        message = doc_get(document->root, "message");
    if (message && message->type == DOC_SCALAR)
        text_add(why, message->text);
    else
        text_addf(why, "%.*s", (int)strcspn(body, "\r\n"), body);
}

const char etcd_members_remedy[] =
    "see whether most members of etcd run and reach each other: etcdctl endpoint status --cluster";

static const char *remedy_of_silence(enum http_failure failure)
{
    switch (failure) {
    case HTTP_EXPIRED:
        return "renew that member's certificate, or set this machine's clock: timedatectl";
    case HTTP_MISNAMED:
        return "name it in addresses.etcd.endpoints as its certificate does, or give it one with "
               "this name";
    case HTTP_UNTRUSTED:
    case HTTP_NO_CA:
        return "put the CA of etcd's certificates into addresses.etcd.caFile, or ask who it is "
               "that answers there";
    case HTTP_OWN_PAIR:
        return "see whether addresses.etcd.certFile and keyFile can be read and fit each other";
    case HTTP_UNWELCOME:
        return "give addresses.etcd.certFile a valid certificate of the CA that etcd takes for its "
               "clients (--trusted-ca-file)";
    case HTTP_SILENT:
        return etcd_members_remedy;
    case HTTP_FOREIGN:
        return "write https:// in addresses.etcd.endpoints if etcd wants TLS, with the port of its "
               "clients (2379)";
    case HTTP_PLAIN:
        return "write http:// in addresses.etcd.endpoints, or let etcd speak TLS there";
    case HTTP_UNNAMED:
    case HTTP_SHADOWED:
        return http_way_remedy(failure);
    case HTTP_UNREACHED:
    case HTTP_FAILED:
        break;
    }
    return "see whether etcd runs at addresses.etcd.endpoints";
}

/*
 * Over HTTP etcd does not authenticate by a certificate's CommonName: its users need a token. If it
 * requires client certificates as well, it refuses those that have a CommonName, with or without a
 * token.
 */
static const struct {
    int status; /* 0: any */
    const char *words, *remedy;
} refusals[] = {
    { 400, "CommonName",
      "give addresses.etcd.certFile a certificate without a CommonName, and addresses.etcd.user and "
      "passwordFile a user of etcd's; or turn its users off: etcdctl auth disable" },
    { 400, "user name is empty",
      "give addresses.etcd.user and passwordFile a user of etcd's that reads and writes "
      "addresses.etcd.prefix; or turn its users off: etcdctl auth disable" },
    { 400, "authentication failed",
      "see whether addresses.etcd.user and passwordFile are those of a user of etcd's: etcdctl "
      "user get NAME" },
    { 400, "authentication is not enabled",
      "leave out addresses.etcd.user and passwordFile, or turn etcd's users on: etcdctl auth enable" },
    { 0, "database space exceeded",
      "make room in etcd: compact and defragment it, and disarm its alarm (etcdctl alarm list)" },
    { 401, "", "see what etcd's journal says of tokens (--auth-token)" },
    { 403, "",
      "let the user of addresses.etcd.user read and write addresses.etcd.prefix: etcdctl role "
      "grant-permission" },
};

static const char *remedy_of_status(int status, const char *why)
{
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        if ((!refusals[i].status || refusals[i].status == status) && strstr(why, refusals[i].words))
            return refusals[i].remedy;
    }
    return status >= 500 ? etcd_members_remedy : "see what etcd's journal says of this request";
}

void etcd_describe(const struct etcd_request *request, CURLcode code, struct etcd_answer *answer,
                   struct text *why)
{
    const char *endpoint = request->client->where.endpoints[request->endpoint];
    answer->status = code == CURLE_OK ? http_status(&request->exchange) : 0;
    if (code == CURLE_OK && answer->status == 200)
        return;
    answer->retry_after_ms = curl_retry_after_ms(request->exchange.transfer.easy);
    text_addf(why, "%s: ", endpoint);
    if (code == CURLE_ABORTED_BY_CALLBACK) {
        text_add(why, "the connection ended before an answer came");
    } else if (code != CURLE_OK) {
        http_tell(&request->exchange, code, why);
    } else {
        text_addf(why, "HTTP status %d: ", answer->status);
        add_etcd_message(request, why);
    }
    if (why->data)
        kube_refusal_clean(why->data);
    answer->error = text_str(why);
    answer->remedy = answer->status ? remedy_of_status(answer->status, answer->error)
                                    : remedy_of_silence(http_failure(&request->exchange, code));
}
