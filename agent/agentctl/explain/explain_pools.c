// SPDX-License-Identifier: Apache-2.0
/* What is said of a pool's address and of who waits for one; see explain_pools.h. */
#include "agentctl/explain/explain_pools.h"

#include "agentctl/field.h"
#include "agentctl/output.h"

void add_key(struct text *out, const struct doc *map)
{
    add_clean(out, field(map, "namespace"));
    text_add_char(out, '/');
    add_clean(out, field(map, "name"));
}

void add_pending(struct text *out, const struct doc *lack)
{
    const struct doc *of = doc_get(lack, "of");
    text_addf(out, "pending, has no %s: %s",
              doc_get(lack, "address") ? field(lack, "address") : field(lack, "family"),
              field(lack, "reasonText"));
    if (of) {
        text_add(out, ": ");
        add_clean(out, of->text);
    }
}

void add_pool_explanation(struct text *out, const struct doc *pool)
{
    const char *comma = "";
    if (!pool)
        return;
    text_add(out, "  pool      ");
    add_key(out, pool);
    text_addf(out, ": %s", field(pool, "state"));
    doc_each(service, doc_get(pool, "services")) {
        text_add(out, *comma ? comma : field_is(pool, "state", "used") ? " by " : ", freed by ");
        add_key(out, service);
        comma = ", ";
    }
    text_add_char(out, '\n');
    doc_each(lack, doc_get(pool, "pending")) {
        text_add(out, "            ");
        add_key(out, lack);
        text_add(out, " is ");
        add_pending(out, lack);
        text_add_char(out, '\n');
    }
}
