// SPDX-License-Identifier: Apache-2.0

// A Consul agent for the tests: the published module's, without the other commands of `consul`,
// which only talk to an agent's HTTP API as the tests do themselves.
package main

import (
	"fmt"
	"os"

	"github.com/hashicorp/consul/command/agent"
	"github.com/hashicorp/consul/command/cli"
	mcli "github.com/mitchellh/cli"
)

func main() {
	ui := &cli.BasicUI{BasicUi: mcli.BasicUi{Writer: os.Stdout, ErrorWriter: os.Stderr}}
	if len(os.Args) < 2 || os.Args[1] != "agent" {
		fmt.Fprintln(os.Stderr, "usage: consul agent OPTIONS")
		os.Exit(2)
	}
	os.Exit(agent.New(ui).Run(os.Args[2:]))
}
