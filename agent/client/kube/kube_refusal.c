// SPDX-License-Identifier: Apache-2.0
/*
 * Texts for refusals; called by source/reflector.c and kube_write.c. The API explains itself in the
 * message of a Status object; a proxy in between, or the API before it has started, sends a body
 * that is no JSON, which is not shown.
 */
#include "client/kube/kube_refusal.h"

#include <stdio.h>

#include "format/reader.h"

static bool is_redirection(int status)
{
    return status >= 300 && status < 400;
}

static const char *remedy_of(int status, const char *leave)
{
    if (status == 401)
        return "renew the token or certificate; one that stands in the kubeconfig counts after a reload";
    if (status == 403)
        return leave;
    if (status == 404 || is_redirection(status))
        return "check the server's address in the kubeconfig";
    if (status == 429)
        return "see who asks so much (kubectl get --raw /metrics, apiserver_flowcontrol), or give "
               "this account a priority level of its own: kubectl get flowschemas";
    if (status >= 500)
        return "see whether kube-apiserver and etcd run, also behind a balancer that answers for it";
    return "see what the journal of kube-apiserver says of this request";
}

static const char *words_of(int status)
{
    switch (status) {
    case 401:
        return "the API does not know who is asking";
    case 403:
        return "the API forbids it";
    case 404:
        return "the API does not have it";
    case 410:
        return "what was known is too old";
    case 429:
        return "the API has too much to do";
    default:
        return is_redirection(status) ? "a redirection, which is not followed"
                                      : "the API does not answer as asked";
    }
}

static bool is_over_quota(const char *why)
{
    return strstr(why, "exceeded quota") != NULL;
}

bool kube_refusal_by_admission(const char *why)
{
    return strstr(why, "ValidatingAdmissionPolicy") || strstr(why, "admission webhook") ||
           is_over_quota(why);
}

/* The remedy for an error of another program behind the API. */
static const char *remedy_of_words(const char *why)
{
    if (is_over_quota(why))
        return "raise the ResourceQuota of that namespace: kubectl get resourcequota -A";
    if (kube_refusal_by_admission(why))
        return "let that admission policy or webhook allow it (kubectl get "
               "validatingadmissionpolicies,validatingwebhookconfigurations)";
    if (strstr(why, "database space exceeded"))
        return "make room in etcd: compact and defragment it, and disarm its alarm (etcdctl alarm "
               "list)";
    return NULL;
}

const char *kube_refusal_read(int status, const struct text *body, const char *leave,
                              char why[static KUBE_ERROR_LEN])
{
    AUTOFAULTS struct faults ignored = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    (void)document_parse(text_str(body), body->length, "", READER_JSON, &document, &ignored);
    const struct doc *message = document ? doc_get(document->root, "message") : NULL;
    bool said = message && message->type == DOC_SCALAR && *message->text;
    (void)snprintf(why, KUBE_ERROR_LEN, "%d: %s", status, said ? message->text : words_of(status));
    kube_refusal_clean(why);
    if (status == 400 && !said)
        return "check whether the server's address must begin with https";
    const char *remedy = remedy_of_words(why);
    return remedy ? remedy : remedy_of(status, leave);
}

void kube_refusal_clean(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f)
            *text = '?';
    }
}
