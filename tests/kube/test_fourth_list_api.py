# SPDX-License-Identifier: Apache-2.0
"""The fourth list of the fault table, the Kubernetes API: each row was written down before it was tried
(tests/fourth_list.txt)."""

import scripted
from faults import Table, check
from test_fault_table_api import world_fixture  # noqa: F401

rows = Table()


@rows(539, cause="is not in sync: 429", remedy=("",), beside="is not in sync: 429")
def it_has_too_many_requests(world):
    world.refuse(".", 429)
    yield
    world.api.mend()


@rows(540, cause="the answer is no JSON", remedy="who it is that answers", beside="the answer is no JSON")
def a_proxy_answers_with_a_web_page(world):
    world.api.fail(".", scripted.raw(b"<!DOCTYPE html><html><body>Please log in.</body></html>"))
    world.api.forget()
    world.api.end_watches()
    yield
    world.api.mend()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
