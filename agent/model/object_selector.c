// SPDX-License-Identifier: Apache-2.0
/*
 * Lists of selectors: from a document, compared, and written back; for the decoders of MetalLB's
 * kinds. What can't be read refuses the object: a selector with one requirement less selects more.
 * matchLabels are kept as requirements of one value, and all are written as matchExpressions.
 */
#include "model/object_selector.h"

#include "model/fields/field.h"

static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist", NULL };

/* Without its operator nothing can be said of the values. */
static DECODE_FIELD(decode_operator, node)
{
    const uint32_t errors = decoder->error_count;
    return field_word.decode(decoder, node, field, base) && node && errors == decoder->error_count;
}

static DECODE_FIELD(decode_values, list)
{
    if (list && list->type == DOC_LIST && list->count > LABEL_SELECTOR_MAX_VALUES) {
        decode_error(decoder, list, object_list_too_long, .max = LABEL_SELECTOR_MAX_VALUES,
                     .what = "values");
        return false;
    }
    return field_list.decode(decoder, list, field, base);
}

static const struct field requirement_fields[] = {
    { "key", &field_text, MEMBER(struct label_requirement, name), .required = true },
    { "operator", &field_word, MEMBER(struct label_requirement, relation), .required = true,
      .words = operators, .decode = decode_operator },
    { "values", &field_list, ITEMS(struct label_requirement, values, value_count),
      .fields = text_items, .decode = decode_values },
    END(NULL),
};

static const struct field selector_fields[] = {
    { "matchExpressions", &field_list,
      ITEMS(struct object_selector, requirements, requirement_count),
      .fields = requirement_fields },
    END(NULL),
};

static void decode_expression(struct decoder *decoder, const struct doc *node,
                              struct label_requirement *requirement)
{
    requirement->name = "";
    if (!decode_map(decoder, node))
        return;
    bool whole = fields_decode(decoder, node, requirement_fields, requirement);
    bool wanted =
        requirement->relation == LABEL_IS_ONE_OF || requirement->relation == LABEL_IS_NONE_OF;
    if (!*requirement->name)
        decode_error(decoder, node, object_field_empty, .field = "key");
    if (whole && wanted != (requirement->value_count > 0))
        decode_error(decoder, node, object_selector_values_wrong);
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

static DECODE_FIELD(decode_selector, node)
{
    struct object_selector *selector = base;
    if (!decode_map(decoder, node))
        return true;
    const struct doc *labels = decode_map(decoder, doc_get(node, "matchLabels"));
    const struct doc *expressions = decode_list(decoder, doc_get(node, "matchExpressions"));
    size_t room = (labels ? labels->count : 0) + (expressions ? expressions->count : 0);
    if (room > LABEL_SELECTOR_MAX_REQUIREMENTS) {
        decode_error(decoder, node, object_list_too_long, .max = LABEL_SELECTOR_MAX_REQUIREMENTS,
                     .what = "requirements");
        return true;
    }
    struct label_requirement *requirements = decode_alloc(decoder, room, sizeof(*requirements));
    if (!requirements)
        return true;
    doc_each(label, labels)
        decode_match_label(decoder, label, &requirements[selector->requirement_count++]);
    doc_each(expression, expressions)
        decode_expression(decoder, expression, &requirements[selector->requirement_count++]);
    selector->requirements = requirements;
    return true;
}

static ENCODE_FIELD(encode_selector)
{
    fields_encode_map(json, NULL, selector_fields, true, base);
}

static EQUAL_FIELD(selector_equal)
{
    return fields_equal(selector_fields, a, b);
}

static const struct field_type selector_type = { decode_selector, selector_equal, encode_selector };
const struct field selector_items[] = { { .type = &selector_type }, END(NULL) };

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
