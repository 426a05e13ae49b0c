# SPDX-License-Identifier: Apache-2.0
"""What all pytest suites share: the lab as a fixture."""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lab import Lab  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers",
                            "lab(nodes=2, pod_table=None, nat=False): what the test's Lab is made of")
    config.addinivalue_line("markers", "busy: takes all the processors there are")


def taken():
    """Seconds that tests took the last time, by module and name: tools/test writes them."""
    try:
        return json.loads(Path(os.environ["FINGERPOST_TIMES"]).read_text(encoding="utf-8"))
    except (KeyError, OSError, ValueError):
        return {}


def module_of(item):
    return item.nodeid.split("::")[0].rpartition("/")[2].removesuffix(".py")


def in_order(items, times):
    """The modules that take longest first, and within each the longest tests, so that no worker ends
    long after the others. Tests that share more than their module stay in their order."""
    def seconds(item):
        return times.get(f"{module_of(item)}::{item.name}", 0)

    modules = Counter()
    for item in items:
        modules[module_of(item)] += seconds(item)
    return sorted(items, key=lambda item: (
        -modules[module_of(item)], module_of(item),
        0 if item.get_closest_marker("xdist_group") else -seconds(item)))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that load every processor are a group: with --dist loadgroup they run one after the
    other, since two of them at once only wait for each other. So are those that share a cluster."""
    for item in items:
        if item.get_closest_marker("busy"):
            item.add_marker(pytest.mark.xdist_group("busy"))
        elif "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(module_of(item)))
    if times := taken():
        items[:] = in_order(items, times)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    if outcome.get_result().failed:
        item.failed = True


@pytest.fixture(name="lab")
def lab_fixture(request):
    """A network of the test's own. What its daemons logged is printed if the test fails."""
    marker = request.node.get_closest_marker("lab")
    with Lab(request.node.nodeid, **(marker.kwargs if marker else {})) as lab:
        yield lab
        if getattr(request.node, "failed", False):
            lab.show_logs()
