/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a client of etcd's becomes one of its users, where etcd has users: by name and password it
 * gets a token, which goes with each request until etcd knows it no more. Pure but for the file of
 * the password, which is read for each login. Used by client/etcd/etcd.c; neither secret is ever
 * told.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

#define ETCD_LOGIN_PATH "/v3/auth/authenticate"

/* The body of a login. Returns 0, -ENODATA where the file is empty, -ENOMEM, or what reading says:
 * then it is of an empty password, which etcd refuses. */
int etcd_login_body(const char *user, const char *password_file, struct text *body);

/* The token of an answer. Returns 0, -EBADMSG or -ENOMEM. */
int etcd_login_token(const char *answer, size_t size, char **ret_token);

/* Whether an answer means that the token is none any more: nothing was done. */
bool etcd_login_is_over(int status, const char *answer);
