/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the network namespace that the process is in. */
#pragma once

/*
 * Writes one, named as sysctl(8) does: with dots between the parts, "net.ipv4.conf.all.forwarding",
 * or with slashes, and then a part may have dots: "net/ipv4/conf/eth0.7/forwarding". Returns 0,
 * -ENOENT if there is no such setting, or -errno.
 */
int sysctl_write(const char *name, const char *value);
