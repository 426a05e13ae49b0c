# SPDX-License-Identifier: Apache-2.0
"""IPsec between two nodes, as who writes its associations and policies by hand has it: in tunnel mode
for the nodes' pods and what nodes send to them, in transport mode for the nodes alone."""

from served import FAMILIES, address_of

CIPHER = f"aead rfc4106(gcm(aes)) 0x{'2a' * 20} 128"  # nobody has to be kept from reading it


def block(node, family):
    return node.block4 if family == 4 else node.block6


def networks(one, two, family, mode):
    """Which networks of two nodes speak sealed: pairs of one of the first's and one of the second's."""
    here, there = address_of(one, family), address_of(two, family)
    if mode == "transport":
        return [(here, there)]
    return [(block(one, family), block(two, family)), (here, block(two, family)),
            (block(one, family), there), (here, there)]


def seal(one, two, mode):
    """Associations and policies on both nodes. What comes in clear is dropped."""
    for near, far in ((one, two), (two, one)):
        lines = []
        for family in FAMILIES:
            here, there = address_of(near, family), address_of(far, family)
            for source, target, from_first in ((here, there, near is one), (there, here, far is one)):
                lines.append(f"xfrm state add src {source} dst {target} proto esp "
                             f"spi 0x{family}0{1 if from_first else 2} mode {mode} {CIPHER}")
            for ours, theirs in networks(near, far, family, mode):
                lines.append(f"xfrm policy add src {ours} dst {theirs} dir out "
                             f"tmpl src {here} dst {there} proto esp mode {mode}")
                lines += [f"xfrm policy add src {theirs} dst {ours} dir {direction} "
                          f"tmpl src {there} dst {here} proto esp mode {mode}"
                          for direction in ("in", "fwd")]
        near.configure(*lines)


def unseal(*nodes):
    for node in nodes:
        node.configure("xfrm policy flush", "xfrm state flush")
