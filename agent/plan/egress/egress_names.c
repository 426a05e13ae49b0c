// SPDX-License-Identifier: Apache-2.0
/*
 * Lists of Egresses as text, and queries of an Egress or a pod that many files need; see
 * egress_names.h. Names of objects have neither slash nor comma, so that a list can be parsed.
 */
#include "plan/egress/egress_names.h"

#include <errno.h>
#include <string.h>

#include "faults/egress.h"
#include "faults/raise.h"

/* Removes the text before `end`, and `end` itself. */
static void take(const char **list, const char *end, char *word, size_t size)
{
    size_t length = strcspn(*list, end);
    size_t kept = MIN(length, size - 1);
    memcpy(word, *list, kept);
    word[kept] = '\0';
    *list += length + ((*list)[length] != '\0');
}

bool egress_list_next(const char **list, struct egress_item *ret_item)
{
    if (!**list)
        return false;
    take(list, "/", ret_item->namespace, sizeof(ret_item->namespace));
    take(list, ",", ret_item->name, sizeof(ret_item->name));
    return true;
}

bool egress_list_has(const char *list, const char *egress)
{
    size_t length = strlen(egress);
    for (const char *at = list; (at = strstr(at, egress)); at += length) {
        bool begins = at == list || at[-1] == ',';
        if (begins && (at[length] == ',' || !at[length]))
            return true;
    }
    return false;
}

void egress_list_add(struct text *list, const char *namespace, const char *name)
{
    text_addf(list, "%s%s/%s", list->length ? "," : "", namespace, name);
}

const struct egress *egress_of(const struct node_facts *facts, const struct egress_ref *ref)
{
    const struct object *object = store_get(facts->store, KIND_EGRESS, ref->namespace, ref->name);
    return object ? to_egress(object) : NULL;
}

bool egress_has_family(const struct egress *egress, uint8_t family)
{
    for (uint32_t i = 0; i < egress->destination_count; i++) {
        if (egress->destinations[i].ip.family == family)
            return true;
    }
    return false;
}

bool egress_is_local(const struct node_facts *facts, const struct pod *pod)
{
    return strcmp(pod->node_name, facts->config->node) == 0;
}

int egress_selector(const struct egress *egress, struct label_selector **ret_selector,
                    struct faults *faults)
{
    struct label_selector_error error;
    *ret_selector = NULL;
    int r = label_selector_parse(egress->gateway_nodes, ret_selector, &error);
    if (r != -EINVAL)
        return r;
    AUTOFREE char *place =
        text_format("Egress %s/%s", egress->object.namespace, egress->object.name);
    fault_raise(faults, place, egress_selector_invalid, .column = (int64_t)error.column,
                .reason = error.message);
    return 1;
}
