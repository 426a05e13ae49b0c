/* SPDX-License-Identifier: Apache-2.0 */
/* A Service as it is once it has been given LoadBalancer addresses. */
#pragma once

#include "model/services/service.h"

/*
 * A copy of the Service with these addresses as those of its status, and with what is of ipMode
 * Proxy as it is; `assigned` and `unheeded` (NULL: as it was) are those of the copy. Returns 0 and
 * an object that the caller owns, or -ENOMEM.
 */
int service_copy_with(const struct service *service, const struct ip *ips, size_t count,
                      bool assigned, const char *unheeded, struct object **ret_object);

/* A copy of it with these of its LoadBalancer addresses marked as kept, and no others; likewise. */
int service_copy_keeping(const struct service *service, const struct ip *kept, size_t count,
                         struct object **ret_object);
