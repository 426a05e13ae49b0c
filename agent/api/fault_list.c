// SPDX-License-Identifier: Apache-2.0
/* `GET /v1/faults`; see fault_list.h. */
#include "api/fault_list.h"

#include "api/reply.h"
#include "api/view_faults.h"
#include "faults/catalogue.h"

void reply_fault_list(const struct fault_book *book, const struct http_request *request,
                      struct http_reply *reply)
{
    AUTOTEXT struct text out = { 0 };
    const char *code = http_query(request, "code");
    if (code && !fault_catalogue_find(code)) {
        reply_error(reply, 400, "no fault has this code (agentctl help fault lists them)");
        return;
    }
    view_fault_list(book, code, &out);
    reply_document(reply, 200, &out);
}
