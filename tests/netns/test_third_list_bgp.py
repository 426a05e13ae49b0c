# SPDX-License-Identifier: Apache-2.0
"""The third list of the fault table, BGP: each row was written down before it was tried (tests/third_list.txt).

The numbers go on in test_third_list_data.py, test_third_list_objects.py and test_third_list_start.py, and in
tests/kube/test_third_list_api.py.
"""

import os

import pytest
from cluster import VIP
from faults import Table, check
from test_fault_table_bgp import UNFILTERED, expect_peers, world_fixture  # noqa: F401

pytestmark = [pytest.mark.lab(nodes=1), pytest.mark.shared]
rows = Table()
DOWN = "the session with AS 64600 is down"
NEIGHBOR = "neighbor TOR_ADDRESS4 as TOR_ASN;"
WITHOUT = "-dac_override,-dac_read_search"


def edit_router(world, name, old, new):
    """Another line in a file of the router's; returns what puts the old one back."""
    bird = world.lab.tor.bird
    file = bird.folder / name
    text = file.read_text(encoding="ascii")
    assert old in text

    def write(now):
        file.unlink()
        file.write_text(now, encoding="ascii")
        bird.birdc("configure")

    write(text.replace(old, new))
    return lambda: write(text)


def restart_agent(world, wrapper=()):
    agent = world.agent
    agent.stop()
    agent.wrapper = wrapper
    agent.start()


@rows(301, cause=("bird.ctl", "Permission denied"), remedy="usermod -aG bird fingerpost")
def the_agent_is_not_in_the_group_of_bird(world):
    socket = world.bird.socket
    os.chown(socket, 65534, 65534)
    socket.chmod(0o660)
    restart_agent(world, ("setpriv", "--bounding-set", WITHOUT, "--inh-caps", WITHOUT))
    yield
    os.chown(socket, 0, 0)
    restart_agent(world)
    world.up()


@rows(302, cause=("tor_v4", DOWN), remedy="address")
def the_source_address_is_of_another_machine(world):
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + " source address 10.0.1.99;")
    yield
    world.restore()


@rows(303, cause=("tor_v4", DOWN), remedy="peer")
def the_router_knows_the_node_no_more(world):
    undo = edit_router(world, "nodes.conf", "protocol bgp node1_v4", "protocol bgp node1_gone { disabled; local as 64600; "
                       "neighbor 10.9.9.9 as 64999; }\n#")
    yield
    undo()


@rows(304, cause=("tor_v4", DOWN), remedy="tor_v4")
def ttl_security_is_on_at_one_end(world):
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + " ttl security on;")
    yield
    world.restore()


@rows(305, cause=("tor_v4", "1 route of table 119 is filtered", "10.224.0.0/27"), remedy="look at the export filter of tor_v4",
      beside="1 route of table 119 is filtered")
def the_filter_forgets_the_blocks_of_pods(world):
    world.edit("node.conf", UNFILTERED, "export filter { if krt_source = 30 then reject; if fingerpost_attributes() then accept; "
               "reject; };")
    yield
    world.restore()


@rows(306, cause=("tor_v4", DOWN + ": no interface is called eth9"), remedy="see why it is not there: ip -br link")
def the_session_is_bound_to_an_interface_that_is_not_there(world):
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + ' interface "eth9";')
    yield
    world.restore()


@rows(307)
def a_session_of_no_concern_is_down(world):
    expect_peers(world, ["tor_v4", "tor_v6"])
    world.edit("node.conf", "protocol bgp tor_v6", "protocol bgp storage { local as NODE_ASN; neighbor 10.0.1.250 as 65001; "
               "ipv4 { import none; export none; }; }\nprotocol bgp tor_v6")
    yield
    world.restore()
    expect_peers(world, None)


@rows(308, cause=("main", f"this node's own packets to {VIP} are dropped", f"blackhole {VIP}/32"), remedy="protocol pipe")
def a_pipe_takes_blackholes_to_main(world):
    world.edit("node.conf", "protocol device", "protocol kernel main_v4 { ipv4 { import none; export all; }; }\n"
               "protocol pipe leak { table fingerpost4; peer table master4; import none; export all; }\nprotocol device")
    yield
    world.restore()


@rows(309, cause="BIRD does not run", remedy="systemctl status bird")
def bird_does_not_come_up_with_a_broken_configuration(world):
    world.write("node.conf", world.texts["node.conf"] + "nonsense\n")
    world.kill()
    done = world.node.run("bird", "-c", str(world.bird.folder / "node.conf"), "-s", str(world.bird.socket), check=False)
    assert done.returncode != 0 and "syntax error" in done.stderr
    yield
    world.write("node.conf", world.texts["node.conf"])
    world.bird.start()
    world.up()


@rows(310, cause=("tor_v4", DOWN), remedy="passwords")
def the_passwords_differ(world):
    undo = edit_router(world, "nodes.conf", "protocol bgp node1_v4 from node_v4 {", 'protocol bgp node1_v4 from node_v4 { password "b";')
    world.edit("node.conf", NEIGHBOR, NEIGHBOR + ' password "a";')
    yield
    undo()
    world.restore()


@rows.each
def test_told_and_gone(world, row):
    check(row, world)
