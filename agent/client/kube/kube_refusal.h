/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets an answer of the API that is no success. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "client/kube/kube.h"

/*
 * Writes the reason for people ("403: nodes is forbidden: ...") from the HTTP status and the body,
 * which may be a Status object or anything else. Returns what to do about it, or NULL; `leave`
 * where the API forbids it (static).
 */
const char *kube_refusal_read(int status, const struct text *body, const char *leave,
                              char why[static KUBE_ERROR_LEN]);

/* Makes text from elsewhere fit to be shown: one line of printable characters. */
void kube_refusal_clean(char *text);

/*
 * Whether the message of a refusal is from an admission policy, webhook or quota, and not from
 * RBAC.
 */
bool kube_refusal_by_admission(const char *why);
