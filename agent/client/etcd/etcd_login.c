// SPDX-License-Identifier: Apache-2.0
/*
 * See etcd_login.h. A simple token of etcd is valid for five minutes after its last use, and only
 * while the members run; after users or roles were changed, requests that are under way are refused
 * once.
 */
#include "client/etcd/etcd_login.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files/file.h"
#include "base/macro.h"
#include "format/json.h"
#include "format/reader.h"

enum { PASSWORD_MAX = 4096 };

static int read_password(const char *path, char **password, size_t *size)
{
    int r = file_read(path, PASSWORD_MAX, password, size);
    if (r < 0)
        return r;
    (*password)[strcspn(*password, "\r\n")] = '\0';
    return **password ? 0 : -ENODATA;
}

int etcd_login_body(const char *user, const char *password_file, struct text *body)
{
    AUTOFREE char *password = NULL;
    struct json json = { .out = body };
    size_t size = 0;
    int r = read_password(password_file, &password, &size);
    json_begin_object(&json, NULL);
    json_string(&json, "name", user);
    json_string(&json, "password", r < 0 ? "" : password);
    json_end_object(&json);
    if (password)
        explicit_bzero(password, size);
    return text_error(body) < 0 ? text_error(body) : r;
}

int etcd_login_token(const char *answer, size_t size, char **ret_token)
{
    CLEANUP(document_freep) struct document *document = NULL;
    AUTOFAULTS struct faults faults = { 0 };
    int r = document_parse(answer, size, "etcd's answer", READER_JSON, &document, &faults);
    if (r == -ENOMEM)
        return r;
    const struct doc *token = r == 1 ? doc_get(document->root, "token") : NULL;
    if (!token || token->type != DOC_SCALAR || !*token->text || strpbrk(token->text, "\r\n"))
        return -EBADMSG;
    *ret_token = strdup(token->text);
    explicit_bzero((char *)token->text, strlen(token->text));
    return *ret_token ? 0 : -ENOMEM;
}

bool etcd_login_is_over(int status, const char *answer)
{
    return status == 401 || (status == 400 && strstr(answer, "revision in auth store is old"));
}
