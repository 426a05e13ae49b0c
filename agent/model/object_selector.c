// SPDX-License-Identifier: Apache-2.0
/*
 * Lists of selectors: from a document, compared, and written back; for the decoders of MetalLB's
 * kinds. What can't be read refuses the object: a selector with one requirement less selects more.
 * matchLabels are kept as requirements of one value, and all are written as matchExpressions.
 */
#include "model/object_selector.h"

#include "model/fields/decode_lists.h"
#include "model/fields/equal.h"

static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist", NULL };

static void decode_values(struct decoder *decoder, const struct doc *expression,
                          struct label_requirement *requirement)
{
    const struct doc *node = doc_get(expression, "values");
    const struct doc *list = decode_list(decoder, node);
    size_t count = list ? list->count : 0;
    bool wanted =
        requirement->relation == LABEL_IS_ONE_OF || requirement->relation == LABEL_IS_NONE_OF;
    if (wanted != (count > 0)) {
        decode_error(decoder, expression, object_selector_values_wrong);
        return;
    }
    if (count > LABEL_SELECTOR_MAX_VALUES) {
        decode_error(decoder, list, object_list_too_long, .max = LABEL_SELECTOR_MAX_VALUES,
                     .what = "values");
        return;
    }
    const char **values = decode_alloc(decoder, count, sizeof(*values));
    if (!values)
        return;
    doc_each(value, list)
        values[requirement->value_count++] = decode_string(decoder, value);
    requirement->values = values;
}

static void decode_expression(struct decoder *decoder, const struct doc *node,
                              struct label_requirement *requirement)
{
    requirement->name = "";
    if (!decode_map(decoder, node))
        return;
    requirement->name = decode_string(decoder, decode_need(decoder, node, "key"));
    if (!*requirement->name)
        decode_error(decoder, node, object_field_empty, .field = "key");
    const struct doc *word = decode_need(decoder, node, "operator");
    uint32_t errors = decoder->error_count;
    requirement->relation = (enum label_relation)decode_word(decoder, word, operators);
    if (word && errors == decoder->error_count)
        decode_values(decoder, node, requirement);
}

static void decode_match_label(struct decoder *decoder, const struct doc *label,
                               struct label_requirement *requirement)
{
    const char **value = decode_alloc(decoder, 1, sizeof(*value));
    *requirement = (struct label_requirement){ .name = decode_keep(decoder, label->key),
                                               .relation = LABEL_IS_ONE_OF };
    if (!value)
        return;
    *value = decode_string(decoder, label);
    requirement->values = value;
    requirement->value_count = 1;
}

static void decode_selector(struct decoder *decoder, const struct doc *node,
                            struct object_selector *selector)
{
    if (!decode_map(decoder, node))
        return;
    const struct doc *labels = decode_map(decoder, doc_get(node, "matchLabels"));
    const struct doc *expressions = decode_list(decoder, doc_get(node, "matchExpressions"));
    size_t room = (labels ? labels->count : 0) + (expressions ? expressions->count : 0);
    if (room > LABEL_SELECTOR_MAX_REQUIREMENTS) {
        decode_error(decoder, node, object_list_too_long, .max = LABEL_SELECTOR_MAX_REQUIREMENTS,
                     .what = "requirements");
        return;
    }
    struct label_requirement *requirements = decode_alloc(decoder, room, sizeof(*requirements));
    if (!requirements)
        return;
    doc_each(label, labels)
        decode_match_label(decoder, label, &requirements[selector->requirement_count++]);
    doc_each(expression, expressions)
        decode_expression(decoder, expression, &requirements[selector->requirement_count++]);
    selector->requirements = requirements;
}

struct object_selectors decode_selectors(struct decoder *decoder, const struct doc *node)
{
    struct object_selectors selectors = { 0 };
    const struct doc *list = decode_list(decoder, node);
    struct object_selector *items = decode_alloc(decoder, list ? list->count : 0, sizeof(*items));
    if (!items)
        return selectors;
    doc_each(item, list)
        decode_selector(decoder, item, &items[selectors.count++]);
    selectors.items = items;
    return selectors;
}

static bool requirement_equal(const struct label_requirement *a, const struct label_requirement *b)
{
    if (!text_equal(a->name, b->name) || a->relation != b->relation ||
        a->value_count != b->value_count)
        return false;
    for (size_t i = 0; i < a->value_count; i++) {
        if (!text_equal(a->values[i], b->values[i]))
            return false;
    }
    return true;
}

bool selectors_equal(const struct object_selectors *a, const struct object_selectors *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct object_selector *left = &a->items[i], *right = &b->items[i];
        if (left->requirement_count != right->requirement_count)
            return false;
        for (size_t j = 0; j < left->requirement_count; j++) {
            if (!requirement_equal(&left->requirements[j], &right->requirements[j]))
                return false;
        }
    }
    return true;
}

static void encode_requirement(struct json *json, const struct label_requirement *requirement)
{
    json_begin_object(json, NULL);
    json_string(json, "key", requirement->name);
    json_string(json, "operator", operators[requirement->relation]);
    json_begin_array(json, "values");
    for (size_t i = 0; i < requirement->value_count; i++)
        json_string(json, NULL, requirement->values[i]);
    json_end_array(json);
    json_end_object(json);
}

void encode_selectors(struct json *json, const char *key, const struct object_selectors *selectors)
{
    if (selectors->count == 0)
        return;
    json_begin_array(json, key);
    for (size_t i = 0; i < selectors->count; i++) {
        json_begin_object(json, NULL);
        json_begin_array(json, "matchExpressions");
        for (size_t j = 0; j < selectors->items[i].requirement_count; j++)
            encode_requirement(json, &selectors->items[i].requirements[j]);
        json_end_array(json);
        json_end_object(json);
    }
    json_end_array(json);
}

bool object_selectors_match(const struct object_selectors *selectors, const struct label *labels,
                            size_t count)
{
    for (size_t i = 0; i < selectors->count; i++) {
        const struct object_selector *selector = &selectors->items[i];
        if (label_requirements_met(selector->requirements, selector->requirement_count, labels,
                                   count))
            return true;
    }
    return false;
}
