// SPDX-License-Identifier: Apache-2.0
/*
 * Whether two documents are equivalent; see export_diff.h. Versions of kube-service-exporter wrote
 * or omitted empty members, and consumers treat a missing member as empty.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/json_go.h"
#include "format/reader.h"
#include "plan/export/export_diff.h"

static bool is_empty(const struct doc *member)
{
    if (member->type == DOC_NULL)
        return true;
    if (member->type != DOC_SCALAR)
        return false;
    return !*member->text || (!member->quoted && (strcmp(member->text, "0") == 0 ||
                                                  strcmp(member->text, "false") == 0));
}

/* Adds a document without its empty members, or a list; an empty list equals null. */
static int add_meaning(struct text *out, const struct doc *root)
{
    if (root->type == DOC_NULL || (root->type == DOC_LIST && root->count == 0)) {
        text_add(out, "[]");
        return 0;
    }
    if (root->type != DOC_MAP)
        return json_go_value(out, root);
    AUTOFREE const struct doc **members = json_go_members(root);
    if (!members && root->count)
        return -ENOMEM;
    for (uint32_t i = 0; i < root->count; i++) {
        if (is_empty(members[i]))
            continue;
        json_go_string(out, members[i]->key);
        int r = json_go_value(out, members[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static int meaning_of(const char *text, size_t length, struct text *out)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    int r = document_parse(text, length, "document", READER_JSON, &document, &faults);
    if (r != 1)
        return r == -ENOMEM ? r : -EBADMSG;
    r = add_meaning(out, document->root);
    if (r < 0)
        return r == -ENOMEM ? r : -EBADMSG;
    return text_error(out);
}

int export_same(const char *wanted, const char *have, size_t have_length)
{
    AUTOTEXT struct text ours = { 0 }, theirs = { 0 };
    if (strlen(wanted) == have_length && memcmp(wanted, have, have_length) == 0)
        return 1;
    int r = meaning_of(have, have_length, &theirs);
    if (r < 0)
        return r;
    r = meaning_of(wanted, strlen(wanted), &ours);
    return r < 0 ? r : strcmp(text_str(&ours), text_str(&theirs)) == 0;
}
