/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Login of a client to an etcd with users: for name and password it gets a token, which is sent
 * with each request until etcd does not accept it any more. Pure but for the password file, which
 * is read for each login. Used by client/etcd/etcd.c; neither secret is ever shown.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

#define ETCD_LOGIN_PATH "/v3/auth/authenticate"

/*
 * Writes the body of a login. Returns 0, -ENODATA where the file is empty, -ENOMEM, or the error of
 * reading the file: then the body has an empty password, which etcd refuses.
 */
int etcd_login_body(const char *user, const char *password_file, struct text *body);

/* The token of an answer. Returns 0, -EBADMSG or -ENOMEM. */
int etcd_login_token(const char *answer, size_t size, char **ret_token);

/* Whether an answer means that the token is not valid any more: the request was not executed. */
bool etcd_login_is_over(int status, const char *answer);
