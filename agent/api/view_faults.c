// SPDX-License-Identifier: Apache-2.0
/* The document FaultList. */
#include "api/view_faults.h"

#include <string.h>

#include "api/document.h"

void view_fault_list(const struct fault_book *book, const char *code, struct text *out)
{
    struct json json = view_begin(out, "FaultList");
    json_begin_array(&json, "items");
    for (size_t i = 0; i < fault_book_count(book); i++) {
        const struct known_fault *fault = fault_book_at(book, i);
        if (!code || strcmp(known_fault_code(fault), code) == 0)
            write_known_fault(&json, book, fault);
    }
    json_end_array(&json);
    view_end(&json);
}
