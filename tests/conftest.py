# SPDX-License-Identifier: Apache-2.0
"""What all pytest suites share: the lab as a fixture."""

import itertools
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lab import Lab  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers",
                            "lab(nodes=2, pod_table=None, nat=False, bfd=False): what the test's Lab is made of")
    config.addinivalue_line("markers", "busy: takes all the processors there are")
    config.addinivalue_line("markers", "shared: families, protocols and rows take turns in one lab")


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


def share_of(item):
    """What tests have in common that are marked as shared: all but family, protocol and row of the
    fault table; None."""
    if not item.get_closest_marker("shared"):
        return None
    given = item.callspec.params if hasattr(item, "callspec") else {}
    parameters = [str(value) for name, value in sorted(given.items()) if name not in ("family", "protocol", "row")]
    return re.sub(r"\W", "_", "_".join([module_of(item), item.originalname, *parameters]))


def side_by_side(items):
    """Tests that share a lab come one after the other."""
    for _, group in itertools.groupby(items, lambda item: (module_of(item), item.originalname)):
        yield from sorted(group, key=lambda item: share_of(item) or "")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that load every processor are a group: with --dist loadgroup they run one after the
    other, since two of them at once only wait for each other. So are those that share a cluster or a
    lab."""
    items[:] = side_by_side(items)
    for item in items:
        if item.get_closest_marker("busy"):
            item.add_marker(pytest.mark.xdist_group("busy"))
        elif "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(module_of(item)))
        elif share := share_of(item):
            item.add_marker(pytest.mark.xdist_group(share))
    if times := taken():
        items[:] = in_order(items, times)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    if outcome.get_result().failed:
        item.failed = True


class KeptLab:
    """The lab that tests take turns in. A test that fails takes it along."""

    def __init__(self):
        self.share, self.lab = None, None

    def of(self, share, *args, **kwargs):
        if self.share != share:
            self.close()
            self.lab = Lab(*args, **kwargs).__enter__()
            self.share = share
        return self.lab

    def close(self):
        lab, self.share, self.lab = self.lab, None, None
        if lab:
            lab.__exit__(None, None, None)


@pytest.fixture(name="kept_lab", scope="session")
def kept_lab_fixture():
    kept = KeptLab()
    yield kept
    kept.close()


@pytest.fixture(name="lab")
def lab_fixture(request, kept_lab):
    """A network of the test's own, or of those that it shares it with. What its daemons logged is
    printed if the test fails."""
    marker = request.node.get_closest_marker("lab")
    made_of = marker.kwargs if marker else {}
    if share := share_of(request.node):
        lab = kept_lab.of(share, f"{request.node.nodeid.split('[')[0]}-{share}", **made_of)
        yield lab
        if getattr(request.node, "failed", False):
            lab.show_logs()
            kept_lab.close()
        return
    kept_lab.close()
    with Lab(request.node.nodeid, **made_of) as lab:
        yield lab
        if getattr(request.node, "failed", False):
            lab.show_logs()
