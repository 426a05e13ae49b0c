// SPDX-License-Identifier: Apache-2.0
/*
 * Parses a list: its elements, one by one, and the frame around them, which has the version and the
 * continue token of the next page. Called by reflector.c.
 *
 * The first list is served from the API server's cache (resourceVersion=0), as for all clients that
 * run by the thousand; later ones must not be older than what was seen before. Only where the cache
 * can't provide that, etcd is read, in pages. Elements do not have a kind.
 *
 * An answer that is no such list, or an older one, is abandoned. Objects that are not in a complete
 * list are removed. An element that can't be parsed still counts as named, and its object stays; if
 * not even its name can be read, this list removes no objects.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/text.h"
#include "faults/api.h"
#include "format/quote.h"
#include "source/kube_version.h"
#include "source/reflector.h"

enum {
    PAGE = 500,
    CONTINUATION_MAX = 16 << 10,
    PAGES_MAX = 10000, /* a list with more pages is abandoned */
    EMPTY_MAX = 100,   /* as is one with so many more pages than elements */
};

char *list_path(const struct reflector *reflector)
{
    AUTOTEXT struct text path = { 0 };
    text_add(&path, reflector->path);
    if (reflector->continuation) {
        char *encoded = curl_easy_escape(NULL, reflector->continuation, 0);
        text_addf(&path, "limit=%d&continue=%s", PAGE, encoded ? encoded : "");
        path.failed |= encoded == NULL;
        curl_free(encoded);
    } else if (reflector->list_mode == LIST_CONSISTENT) {
        text_addf(&path, "limit=%d", PAGE);
    } else if (reflector->list_mode == LIST_CACHED && *reflector->version) {
        text_addf(&path, "resourceVersion=%s&resourceVersionMatch=NotOlderThan",
                  reflector->version);
    } else if (reflector->list_mode == LIST_CACHED) {
        text_addf(&path, "limit=%d&resourceVersion=0", PAGE);
    }
    return text_take(&path);
}

void list_begin(struct reflector *reflector)
{
    key_set_done(&reflector->named);
    reflector->nameless = false;
    kube_objects_begin_list(&reflector->objects);
}

int list_refused_part(struct reflector *reflector, const char *text, const struct faults *why)
{
    char buffer[KUBE_NAME_BUFFER];
    struct object_name name;
    int r = kube_objects_refuse(&reflector->objects, text, why, &name, buffer);
    if (r > 0)
        r = key_set_add(&reflector->named, name.namespace, name.name);
    else if (r == 0)
        reflector->nameless = true;
    return r < 0 ? reflector_give_up(reflector, "%s", kube_objects_error(r)) : 0;
}

static int read_item(struct reflector *reflector, const struct json_part *part,
                     const struct document *document)
{
    struct object_name name;
    if (!kube_objects_name(&reflector->objects, document->root, &name)) {
        AUTOFAULTS struct faults why = { 0 };
        doc_raise(document, document->root, &why, api_element_nameless);
        return list_refused_part(reflector, part->text, &why);
    }
    int r = kube_objects_put(&reflector->objects, document, document->root, &name);
    if (r >= 0)
        r = key_set_add(&reflector->named, name.namespace, name.name);
    return r < 0 ? reflector_give_up(reflector, "%s", kube_objects_error(r)) : 0;
}

/* Also if it is null, as Go encodes an empty list. */
static bool has_items(const struct doc *list)
{
    doc_each(member, list) {
        if (strcmp(member->key, "items") == 0)
            return true;
    }
    return false;
}

/* `kind` NULL: the list has none. */
static int check_kind(struct reflector *reflector, const char *kind)
{
    const enum kind asked = reflector->task == TASK_CHECK ? KIND_NODE : reflector->resource->kind;
    const char *wanted = kind_name(asked);
    char shown[QUOTE_LEN];
    size_t length = strlen(wanted);
    if (!kind)
        return reflector_give_up(reflector, "the answer is no list: it does not say its kind");
    if (strncmp(kind, wanted, length) != 0 || strcmp(kind + length, "List") != 0)
        return reflector_give_up(reflector, "the answer is no list of kind %s, but a %s", wanted,
                                 quote(kind, shown));
    return 0;
}

/* Only a check can find that the API's version has gone back. An older list is accepted if a check
 * has confirmed that, and if it is read from etcd. */
static int check_version(struct reflector *reflector, const char *version)
{
    bool believed =
        reflector->task == TASK_CHECK || (reflector->back && reflector->list_mode != LIST_CACHED);
    if (believed || !kube_version_goes_back(version, reflector->version))
        return 0;
    reflector->doubted = true;
    return reflector_give_up(reflector, "the list is an old one: it tells of version %s after %s",
                             version, reflector->version);
}

/*
 * Built-in kinds have kind and version before all items, so that of another list, or of an older
 * one, not even one item is read. Custom resources have them at the end: items are held until then.
 */
int list_head(struct reflector *reflector)
{
    if (reflector->framed)
        return reflector_give_up(reflector, "the answer is more than one list");
    if (reflector->headed)
        return 0;
    reflector->headed = true;
    AUTOFAULTS struct faults ignored = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    const char *head = json_splitter_head(reflector->splitter);
    bool closed = *head && head[strlen(head) - 1] == ']'; /* it was the only item */
    AUTOFREE char *text = text_format("%s%s", head, closed ? "}" : "]}");
    if (!text)
        return reflector_give_up(reflector, "no memory for the list");
    int r = document_parse(text, strlen(text), "", READER_JSON, &document, &ignored);
    if (r == -ENOMEM)
        return reflector_give_up(reflector, "no memory for the list");
    const struct doc *kind = r > 0 ? doc_get(document->root, "kind") : NULL;
    char version[KUBE_VERSION_MAX];
    bool kinded = kind && kind->type == DOC_SCALAR;
    bool versioned = r > 0 && kube_version_read(document->root, version);
    if (kinded && check_kind(reflector, kind->text) < 0)
        return -1;
    if (!kinded || !versioned)
        kube_objects_hold(&reflector->objects);
    return versioned ? check_version(reflector, version) : 0;
}

static int read_frame(struct reflector *reflector, const struct document *document)
{
    const struct doc *continuation = doc_get(doc_get(document->root, "metadata"), "continue");
    const struct doc *kind = doc_get(document->root, "kind");
    if (doc_get(document->root, "items") && doc_get(document->root, "items")->type != DOC_LIST)
        return reflector_give_up(reflector, "the answer has items that are no list");
    if (reflector->framed)
        return reflector_give_up(reflector, "the answer is more than one list");
    if (!kube_version_read(document->root, reflector->list_version))
        return reflector_give_up(reflector, "the answer is no list: it has no resourceVersion");
    if (!has_items(document->root))
        return reflector_give_up(reflector, "the answer is no list: it has no items");
    if (check_kind(reflector, kind && kind->type == DOC_SCALAR ? kind->text : NULL) < 0 ||
        check_version(reflector, reflector->list_version) < 0)
        return -1;
    reflector->framed = true;
    int r = kube_objects_take_held(&reflector->objects);
    if (r < 0)
        return reflector_give_up(reflector, "%s", kube_objects_error(r));
    AUTOFREE char *asked = TAKE_PTR(reflector->continuation);
    if (!continuation || continuation->type != DOC_SCALAR || !*continuation->text)
        return 0;
    const unsigned items = reflector->elements - ++reflector->pages; /* frames count as elements */
    if (reflector->pages >= PAGES_MAX || reflector->pages > EMPTY_MAX + items ||
        (asked && strcmp(asked, continuation->text) == 0))
        return reflector_give_up(reflector, "the list does not come to an end");
    if (strlen(continuation->text) > CONTINUATION_MAX)
        return reflector_give_up(reflector, "the name of the list's next page is too long");
    reflector->continuation = strdup(continuation->text);
    return reflector->continuation ? 0 : reflector_give_up(reflector, "no memory for the list");
}

int list_part(struct reflector *reflector, const struct json_part *part)
{
    AUTOFAULTS struct faults why = { 0 };
    CLEANUP(document_freep) struct document *document = NULL;
    int r = document_parse(part->text, part->length, "", READER_JSON, &document, &why);
    if (r == -ENOMEM)
        return reflector_give_up(reflector, "no memory for the list");
    if (part->kind == JSON_ITEM)
        return r > 0 ? read_item(reflector, part, document)
                     : list_refused_part(reflector, part->text, &why);
    if (r <= 0)
        return reflector_give_up(reflector, "the answer is no JSON");
    return read_frame(reflector, document);
}

int list_end(struct reflector *reflector)
{
    key_set_sort(&reflector->named);
    int r =
        kube_objects_end_list(&reflector->objects, reflector->nameless ? NULL : &reflector->named);
    key_set_done(&reflector->named);
    return r < 0 ? reflector_give_up(reflector, "no memory for the list") : 0;
}
