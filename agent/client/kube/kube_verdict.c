// SPDX-License-Identifier: Apache-2.0
/*
 * Decides whether a write was done; called by kube_write.c.
 *
 * A refusal (4xx) is certain: the API server sends it before it stores anything. A 5xx is not: etcd
 * may have stored the object and answered too late (Kubernetes' own "etcdserver: request timed out"
 * is a 500).
 *
 * If the outcome is uncertain, the object decides: everything in the request has to be in it. The
 * API omits empty values and fills in defaults, so the body is compared, and not the whole object.
 * A value that the API normalizes ("1000m") is never recognized as written: that mistake is
 * harmless, since a create then finds that the object exists, a version then conflicts, and a patch
 * is only sent again.
 *
 * Server-side apply also removes fields, namely those that were ours and are not in the body. So
 * the fields that the API has recorded as ours (metadata.managedFields, structured-merge-diff's
 * fieldsV1: "f:" and a field's name, "k:" or "v:" and an element of a list) must be in the body.
 */
#include "client/kube/kube_verdict.h"

#include <string.h>

static const char *text_of(const struct doc *map, const char *key)
{
    const struct doc *node = doc_get(map, key);
    return node && node->type == DOC_SCALAR ? node->text : "";
}

static const char *version_of(const struct doc *object)
{
    return text_of(doc_get(object, "metadata"), "resourceVersion");
}

/*
 * A failed test is 422, like an invalid object; only for a failed test, the answer does not name
 * the object.
 */
static bool is_test_failed(enum kube_verb verb, int status, const struct doc *body)
{
    return verb == KUBE_TESTED && status == 422 && !doc_get(doc_get(body, "details"), "kind");
}

enum kube_outcome kube_verdict_of(enum kube_verb verb, int status, const struct doc *body)
{
    if (status >= 200 && status < 300)
        return KUBE_DONE;
    if (status == 404)
        return KUBE_MISSING;
    if (is_test_failed(verb, status, body))
        return KUBE_CONFLICT;
    if (status == 409)
        return strcmp(text_of(body, "reason"), "AlreadyExists") == 0 ? KUBE_EXISTS : KUBE_CONFLICT;
    /* Another program answers (a login page), or the API does not recognize the client yet. */
    if ((status >= 300 && status < 400) || status == 401 || status == 429)
        return KUBE_LATER;
    return status >= 400 && status < 500 && status != 408 ? KUBE_REFUSED : KUBE_UNCERTAIN;
}

/* Values that the API omits from an object. */
static bool is_nothing(const struct doc *asked)
{
    if (asked->type == DOC_SCALAR)
        return !*asked->text || strcmp(asked->text, "0") == 0 || strcmp(asked->text, "false") == 0;
    return asked->count == 0;
}

static bool has_all(const struct doc *there, const struct doc *asked, bool merged);

static bool has_members(const struct doc *there, const struct doc *asked, bool merged)
{
    doc_each(member, asked) {
        if (strcmp(member->key, "resourceVersion") == 0 && asked->key &&
            strcmp(asked->key, "metadata") == 0)
            continue;
        const struct doc *found = doc_get(there, member->key);
        if (found ? !has_all(found, member, merged) : !is_nothing(member))
            return false;
    }
    return true;
}

static bool has_element(const struct doc *list, const struct doc *asked, bool merged)
{
    doc_each(element, list) {
        if (has_all(element, asked, merged))
            return true;
    }
    return false;
}

/* `merged`: lists of the object may also have elements of other managers. */
static bool has_elements(const struct doc *there, const struct doc *asked, bool merged)
{
    if (!merged && there->count != asked->count)
        return false;
    const struct doc *beside = there->first;
    doc_each(element, asked) {
        if (merged ? !has_element(there, element, merged) : !has_all(beside, element, merged))
            return false;
        beside = merged ? NULL : beside->next;
    }
    return true;
}

/* The depth of documents is bounded. */
static bool has_all(const struct doc *there, const struct doc *asked, bool merged)
{
    if (asked->type == DOC_NULL)
        return there->type == DOC_NULL;
    if (asked->type != there->type)
        return false;
    switch (asked->type) {
    case DOC_MAP:
        return has_members(there, asked, merged);
    case DOC_LIST:
        return has_elements(there, asked, merged);
    default:
        return strcmp(there->text, asked->text) == 0;
    }
}

static bool is_element(const struct doc *field)
{
    return strncmp(field->key, "k:", 2) == 0 || strncmp(field->key, "v:", 2) == 0;
}

/* Whether every field of a set is in the body, with as many elements of a list as the body has. */
static bool is_within(const struct doc *fields, const struct doc *body)
{
    size_t elements = 0;
    doc_each(field, fields) {
        elements += is_element(field);
        if (strncmp(field->key, "f:", 2) != 0)
            continue;
        const struct doc *member = doc_get(body, field->key + 2);
        if (!member || !is_within(field, member))
            return false;
    }
    return elements == 0 || (body->type == DOC_LIST && body->count == elements);
}

static bool is_applied(const struct kube_write *write, const struct doc *body,
                       const struct doc *there)
{
    const char *subresource = write->target.subresource ? write->target.subresource : "";
    doc_each(entry, doc_get(doc_get(there, "metadata"), "managedFields")) {
        if (strcmp(text_of(entry, "manager"), write->manager) == 0 &&
            strcmp(text_of(entry, "operation"), "Apply") == 0 &&
            strcmp(text_of(entry, "subresource"), subresource) == 0)
            return is_within(doc_get(entry, "fieldsV1"), body);
    }
    return false;
}

static enum kube_outcome found_deleted(const struct kube_write *write, const struct doc *there)
{
    const struct doc *metadata = doc_get(there, "metadata");
    if (strcmp(text_of(metadata, "uid"), write->uid) != 0 || doc_get(metadata, "deletionTimestamp"))
        return KUBE_DONE;
    bool other = write->version && strcmp(version_of(there), write->version) != 0;
    return other ? KUBE_CONFLICT : KUBE_LATER;
}

enum kube_outcome kube_verdict_found(const struct kube_write *write, const struct doc *body,
                                     const struct doc *there)
{
    if (write->verb == KUBE_DELETE)
        return found_deleted(write, there);
    if (write->verb == KUBE_TESTED)
        return KUBE_UNCERTAIN;
    const char *version = version_of(body);
    bool other = *version && strcmp(version, version_of(there)) != 0;
    bool has = has_all(there, body, write->verb == KUBE_APPLY);
    switch (write->verb) {
    case KUBE_CREATE:
        return has ? KUBE_DONE : KUBE_EXISTS;
    case KUBE_APPLY:
        if (has && is_applied(write, body, there))
            return KUBE_DONE;
        return other ? KUBE_CONFLICT : KUBE_LATER;
    case KUBE_UPDATE: /* the write, if done, has changed the version */
        if (!other)
            return KUBE_LATER;
        return has ? KUBE_DONE : KUBE_CONFLICT;
    default:
        if (has)
            return KUBE_DONE;
        return other ? KUBE_CONFLICT : KUBE_LATER;
    }
}

enum kube_outcome kube_verdict_absent(enum kube_verb verb)
{
    if (verb == KUBE_DELETE)
        return KUBE_DONE;
    return verb == KUBE_CREATE || verb == KUBE_APPLY ? KUBE_LATER : KUBE_MISSING;
}
