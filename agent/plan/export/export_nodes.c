// SPDX-License-Identifier: Apache-2.0
/*
 * The list of nodes that load balancers may send to, by kube-service-exporter's rules: the first
 * selector of which enough nodes are usable, else the last one of which any are. Called by
 * plan/export/export.c.
 *
 * kube-service-exporter requires one node more than its setting, by an off-by-one error; here the
 * setting has its documented meaning. It writes null for an empty list; we write [].
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"
#include "faults/export.h"
#include "faults/raise.h"
#include "format/json_go.h"
#include "format/quote.h"
#include "plan/export/export_parts.h"
#include "plan/object_fault.h"

typedef VEC(const struct node *) node_list;

/* The end of the time in which an unready Node still counts as ready; 0: it does not. */
static int64_t pretends_until(const struct exporting *exporting, const struct node *node)
{
    int64_t until_ms = 0;
    if (!node->pretend_ready_until ||
        clock_parse_rfc3339(node->pretend_ready_until, &until_ms) < 0 ||
        until_ms <= exporting->now_wall_ms)
        return 0;
    return until_ms;
}

static bool is_usable(struct exporting *exporting, const struct node *node)
{
    int64_t until_ms = pretends_until(exporting, node);
    int64_t *first = &exporting->plan->until_wall_ms;
    if (until_ms && (!*first || until_ms < *first))
        *first = until_ms;
    return until_ms || (node->ready && !node->unschedulable);
}

static void pretend_fault(struct exporting *exporting, const struct node *node)
{
    int64_t until_ms;
    char quoted[QUOTE_LEN];
    if (!node->pretend_ready_until ||
        clock_parse_rfc3339(node->pretend_ready_until, &until_ms) == 0)
        return;
    object_raise(exporting->faults, &node->object, export_pretend_ready_unreadable,
                 .text = quote(node->pretend_ready_until, quoted));
}

static int usable_nodes(struct exporting *exporting, node_list *usable)
{
    AUTOVEC object_list nodes = { 0 };
    int r = store_list(exporting->store, KIND_NODE, &nodes);
    if (r < 0)
        return r;
    vec_each(const struct object *, object, &nodes) {
        const struct node *node = to_node(*object);
        pretend_fault(exporting, node);
        if (is_usable(exporting, node))
            r = vec_push(usable, node);
        if (r < 0)
            return r;
    }
    return 0;
}

/* An empty selector, which label_selector.h does not accept, selects all. */
static int select_nodes(const char *text, const node_list *usable, node_list *selected)
{
    CLEANUP(label_selector_freep) struct label_selector *selector = NULL;
    struct label_selector_error error;
    vec_clear(selected);
    int r = *text ? label_selector_parse(text, &selector, &error) : 0;
    if (r < 0)
        return r == -EINVAL ? 0 : r; /* can't happen: the configuration was checked */
    vec_each(const struct node *, node, usable) {
        if (!selector || label_selector_matches(selector, (*node)->labels, (*node)->label_count))
            r = vec_push(selected, *node);
        if (r < 0)
            return r;
    }
    return 0;
}

static int choose_nodes(const struct exporting *exporting, const node_list *usable,
                        node_list *chosen, const char **ret_selector)
{
    AUTOVEC node_list selected = { 0 };
    const struct export_config *config = exporting->config;
    if (config->node_selectors.count == 0)
        return select_nodes("", usable, chosen);
    vec_each(char *, selector, &config->node_selectors) {
        int r = select_nodes(*selector, usable, &selected);
        if (r < 0)
            return r;
        if (selected.count == 0)
            continue;
        vec_move(chosen, &selected);
        *ret_selector = *selector;
        if (chosen->count >= config->min_nodes)
            break;
    }
    return 0;
}

/* Store lists are in order of name. */
static void add_nodes(const node_list *nodes, struct text *out)
{
    const char *comma = "";
    text_add_char(out, '[');
    vec_each(const struct node *, node, nodes) {
        for (uint32_t i = 0; i < (*node)->address_count; i++) {
            char buffer[IP_STRLEN];
            if (!(*node)->internal[i])
                continue;
            text_addf(out, "%s{\"Name\":", comma);
            json_go_string(out, (*node)->object.name);
            text_addf(out, ",\"Address\":\"%s\"}", ip_str(&(*node)->addresses[i], buffer));
            comma = ",";
        }
    }
    text_add_char(out, ']');
}

static int add_document(struct exporting *exporting, const struct text *value)
{
    struct export_plan *plan = exporting->plan;
    AUTOTEXT struct text key = { 0 };
    int r = export_nodes_key(exporting->config, &key);
    if (r < 0 || text_error(value) < 0)
        return -ENOMEM;
    struct export_document document = {
        .key = arena_strndup(plan->arena, text_str(&key), key.length),
        .value = arena_strndup(plan->arena, text_str(value), value->length),
        .id = "",
        .owner = "",
    };
    return document.key && document.value ? vec_push(&plan->documents, document) : -ENOMEM;
}

static int keep_names(struct export_plan *plan, const node_list *chosen, const char *selector)
{
    plan->nodes = chosen->count;
    plan->selector = arena_strdup(plan->arena, selector);
    int r = plan->selector ? vec_reserve(&plan->node_names, chosen->count) : -ENOMEM;
    vec_each(const struct node *, node, chosen) {
        const char *name = r == 0 ? arena_strdup(plan->arena, (*node)->object.name) : NULL;
        r = name ? vec_push(&plan->node_names, name) : -ENOMEM;
    }
    return r;
}

int export_nodes(struct exporting *exporting)
{
    const char *selector = "";
    AUTOVEC node_list usable = { 0 }, chosen = { 0 };
    AUTOTEXT struct text value = { 0 };
    int r = usable_nodes(exporting, &usable);
    if (r < 0)
        return r;
    r = choose_nodes(exporting, &usable, &chosen, &selector);
    if (r < 0)
        return r;
    r = keep_names(exporting->plan, &chosen, selector);
    if (r < 0)
        return r;
    add_nodes(&chosen, &value);
    return add_document(exporting, &value);
}
