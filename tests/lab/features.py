# SPDX-License-Identifier: Apache-2.0
"""What a device does itself, such as cutting up large packets: `ethtool -K` without ethtool."""

import ctypes
import fcntl
import socket
import struct

SIOCETHTOOL = 0x8946
SET_INFO, GET_STRINGS, SET_FEATURES, FEATURES = 0x37, 0x1B, 0x3B, 4
# Of a veth without these, packets come cut up as they come from a wire.
CUTTING = ("tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation", "tx-tcp-segmentation",
           "tx-tcp6-segmentation", "tx-udp-segmentation")


def ask_device(device, *parts):
    """One request of ethtool's; what came back."""
    buffer = ctypes.create_string_buffer(b"".join(parts))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        fcntl.ioctl(asking, SIOCETHTOOL,
                    struct.pack("16sP16x", device.encode(), ctypes.addressof(buffer)))
    return buffer.raw


def switch(device, names, state):
    """Switches features of a device of this namespace on or off."""
    count = struct.unpack_from("I", ask_device(
        device, struct.pack("IIQI", SET_INFO, 0, 1 << FEATURES, 0)), 16)[0]
    raw = ask_device(device, struct.pack("III", GET_STRINGS, FEATURES, count), bytes(32 * count))
    known = [raw[12 + 32 * i : 44 + 32 * i].split(b"\0")[0].decode() for i in range(count)]
    words = [[0, 0] for _ in range((count + 31) // 32)]
    for name in names:
        place = known.index(name)
        words[place // 32][0] |= 1 << place % 32
        words[place // 32][1] |= state << place % 32
    ask_device(device, struct.pack("II", SET_FEATURES, len(words)),
               *(struct.pack("II", *word) for word in words))
