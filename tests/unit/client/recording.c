// SPDX-License-Identifier: Apache-2.0
/* Recorded replies of BIRD. */
#include "recording.h"

#include "base/files/file.h"
#include "base/macro.h"
#include "base/text.h"
#include "cmocka_all.h"

const char *const recording_names[] = {
    "restrict",  "denied",         "status",       "protocols", "bfd",
    "count",     "filtered_count", "filtered",     "down",      "syntax",
    "not_found", "plain_greeting", "plain_status", "plain_bfd", "plain_protocols",
    "v3_status", "v3_protocols",
};
const size_t recording_count = ARRAY_SIZE(recording_names);

char *recording_read(const char *name, size_t *ret_size)
{
    AUTOFREE char *path = text_format("%s/%s.txt", BIRD_REPLIES, name);
    char *content = NULL;
    assert_int_equal(file_read(path, BIRD_REPLY_MAX, &content, ret_size), 0);
    return content;
}

void recording_feed(const char *name, struct bird_reply *reply)
{
    size_t size, used;
    AUTOFREE char *bytes = recording_read(name, &size);
    assert_int_equal(bird_reply_feed(reply, bytes, size, &used), 0);
    assert_int_equal(used, size);
    assert_true(reply->complete);
}
