// SPDX-License-Identifier: Apache-2.0
/*
 * The document AddressList: the addresses that one node of a segment has at a time, who has each,
 * and why this node has it or has not.
 */
#include "api/claims/view_addresses.h"

#include "api/claims/claims_live.h"
#include "api/document.h"
#include "base/clock.h"

static void text_or_null(struct json *json, const char *key, const char *text)
{
    if (*text)
        json_string(json, key, text);
    else
        json_null(json, key);
}

static void add_row(struct json *json, const char *key, const struct claim_row *row)
{
    char text[IP_STRLEN];
    json_begin_object(json, key);
    json_string(json, "address", ip_str(&row->ip, text));
    json_string(json, "state", claim_state_name(row->state));
    text_or_null(json, "holder", row->holder);
    text_or_null(json, "interface", row->interface);
    text_or_null(json, "service", row->service);
    json_string(json, "claim", row->key);
    json_time(json, "since", row->since_wall_ms);
    if (row->renewed_ms)
        json_int(json, "renewalAgeMs", clock_boot_ms() - row->renewed_ms);
    else
        json_null(json, "renewalAgeMs");
    text_or_null(json, "why", row->why);
    json_end_object(json);
}

void view_addresses(const struct api_state *state, struct text *out)
{
    AUTOVEC claim_row_list rows = { 0 };
    const struct claims_live *live = state->claims;
    struct json json = view_begin(out, "AddressList");
    out->failed |= live->rows(live->context, &rows) < 0;
    json_begin_array(&json, "items");
    vec_each(const struct claim_row, row, &rows)
        add_row(&json, NULL, row);
    json_end_array(&json);
    view_end(&json);
}

/* ---- One address ---- */

/* Its row in `rows`; NULL: it is not claimed. */
static const struct claim_row *find_row(const struct api_state *state, const struct ip *ip,
                                        claim_row_list *rows)
{
    const struct claims_live *live = state->claims;
    if (!live || !live->rows || live->rows(live->context, rows) < 0)
        return NULL;
    vec_each(const struct claim_row, row, rows) {
        if (ip_equal(&row->ip, ip))
            return row;
    }
    return NULL;
}

const char *claim_knows_address(const struct api_state *state, const struct ip *ip,
                                const char **ret_text)
{
    AUTOVEC claim_row_list rows = { 0 };
    if (!find_row(state, ip, &rows))
        return NULL;
    *ret_text = "one node of its segment has it at a time";
    return "claimed";
}

void write_claim_explanation(struct json *json, const struct api_state *state, const struct ip *ip)
{
    AUTOVEC claim_row_list rows = { 0 };
    const struct claim_row *row = find_row(state, ip, &rows);
    if (row)
        add_row(json, "claim", row);
    else
        json_null(json, "claim");
}
