# SPDX-License-Identifier: Apache-2.0
"""The marks of guests: what a test of this folder has emulated."""

GUESTS = {
    "boot": "nothing but a boot",
    "runner": "small ones, that show how run behaves",
    "packets": "tests/bpf inside",
    "sockets": "guest_nat.py inside",
    "matrix": "guest_matrix.py inside",
    "stack": "guest_stack.py inside",
    "egress": "guest_egress.py inside",
    "systemd": "guest_systemd.py inside",
    "services": "guest_services.py inside",
    "reboot": "guest_reboot.py inside, two boots",
}


def pytest_configure(config):
    for name, what in GUESTS.items():
        config.addinivalue_line("markers", f"guest_{name}: {what}")
