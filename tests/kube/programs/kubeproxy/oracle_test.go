// SPDX-License-Identifier: Apache-2.0

//go:build oracle

// Kube-proxy itself, asked what it makes of packets. The other files of this package are those of
// k8s.io/kubernetes/pkg/proxy/nftables, which tests/lab/kube_programs.py has joined to it: what is
// needed here is private there or belongs to its tests, as the tracer, which follows a packet through
// the rules that the proxier wrote.
package nftables

import (
	"encoding/json"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/kubernetes/pkg/proxy"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"
	proxyutiltest "k8s.io/kubernetes/pkg/proxy/util/testing"
	netutils "k8s.io/utils/net"
	"sigs.k8s.io/knftables"
)

// A question is one family of a cluster, as one node sees it, and packets there.
type question struct {
	Family            v1.IPFamily
	Node              string
	NodeIP            string
	NodeLabels        map[string]string
	Interfaces        []string // their addresses
	NodePortAddresses []string
	PodCIDR           string // empty: nobody is known to be a pod
	ServiceCIDRs      string
	MasqueradeAll     bool
	Services          []*v1.Service
	Slices            []*discovery.EndpointSlice
	Packets           []packet
}

type packet struct {
	Source      string
	Destination string
	Protocol    string
	Port        int
}

type answer struct {
	Packets []fate
	Health  map[string]health // by namespace/name
}

type fate struct {
	Outputs    []string // endpoints, DROP or REJECT; none: not kube-proxy's affair
	Masquerade bool
}

type health struct {
	Port       int `json:"port"`
	LocalReady int `json:"localReady"`
}

// addressMatchesSet stands in for the tracer's own, which is renamed: that one wants each address of
// a set to match, but kube-proxy's sets (source ranges) want one of them.
func (tracer *nftablesTracer) addressMatchesSet(ip string, wantMatch bool, set string) bool {
	for _, address := range strings.Split(strings.ReplaceAll(set, " ", ""), ",") {
		if tracer.addressMatches(ip, true, address) {
			return wantMatch
		}
	}
	return !wantMatch
}

func wholeAddress(text string) net.Addr {
	ip := netutils.ParseIPSloppy(text)
	bits := 128
	if ip.To4() != nil {
		bits = 32
	}
	return &net.IPNet{IP: ip, Mask: net.CIDRMask(bits, bits)}
}

func interfaces(addresses []string) proxyutil.NetworkInterfacer {
	network := proxyutiltest.NewFakeNetwork()
	loopback := []net.Addr{wholeAddress("127.0.0.1"), wholeAddress("::1")}
	network.AddInterfaceAddr(&net.Interface{Index: 0, Name: "lo"}, loopback)
	var own []net.Addr
	for _, address := range addresses {
		own = append(own, wholeAddress(address))
	}
	network.AddInterfaceAddr(&net.Interface{Index: 1, Name: "eth0"}, own)
	return network
}

// proxierOf makes the proxier of the package's own tests that of the node in question.
func proxierOf(q *question) (*knftables.Fake, *Proxier) {
	nft, p := NewFakeProxier(q.Family)
	p.serviceChanges = proxy.NewServiceChangeTracker(q.Family, newServiceInfo, nil)
	p.endpointsChanges = proxy.NewEndpointsChangeTracker(q.Family, q.Node, newEndpointInfo, nil)
	p.nodeName = q.Node
	p.nodeIP = netutils.ParseIPSloppy(q.NodeIP)
	p.topologyLabels = q.NodeLabels
	p.networkInterfacer = interfaces(q.Interfaces)
	p.nodePortAddresses = proxyutil.NewNodePortAddresses(q.Family, q.NodePortAddresses)
	p.localDetector = proxyutil.NewNoOpLocalDetector()
	if q.PodCIDR != "" {
		p.localDetector = proxyutil.NewDetectLocalByCIDR(q.PodCIDR)
	}
	p.serviceCIDRs = q.ServiceCIDRs
	p.masqueradeAll = q.MasqueradeAll
	return nft, p
}

func feed(p *Proxier, q *question) {
	for _, service := range q.Services {
		p.OnServiceAdd(service)
	}
	for _, slice := range q.Slices {
		p.OnEndpointSliceAdd(slice)
	}
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	p.syncProxyRules()
}

// follow has a packet run through the chains that it meets on its way. It isn't left to the package's
// tracePacket(), which forgets the port that DNAT gave, and sends what is for this node by
// filter-forward as well.
func follow(t *testing.T, nft *knftables.Fake, own []string, k *packet) fate {
	tracer := newNFTablesTracer(t, nft, own)
	destination, port := k.Destination, strconv.Itoa(k.Port)
	run := func(chain string) bool {
		return tracer.runChain(chain, k.Source, strings.ToLower(k.Protocol), destination, port)
	}
	if !run("filter-prerouting-pre-dnat") {
		run("nat-prerouting")
		if len(tracer.outputs) > 0 {
			var err error
			if destination, port, err = net.SplitHostPort(tracer.outputs[0]); err != nil {
				t.Fatalf("%+v: %v", *k, err)
			}
		}
		if tracer.nodeIPs.Has(destination) {
			run("filter-input")
		} else {
			run("filter-forward")
		}
	}
	return fate{Outputs: tracer.outputs, Masquerade: tracer.markMasq}
}

func healthOf(p *Proxier) map[string]health {
	found := map[string]health{}
	ready := p.endpointsMap.LocalReadyEndpoints()
	for name, port := range p.svcPortMap.HealthCheckNodePorts() {
		found[name.String()] = health{int(port), ready[name]}
	}
	return found
}

func answerTo(t *testing.T, q *question) answer {
	nft, p := proxierOf(q)
	feed(p, q)
	found := answer{Health: healthOf(p)}
	for i := range q.Packets {
		found.Packets = append(found.Packets, follow(t, nft, q.Interfaces, &q.Packets[i]))
	}
	return found
}

// TestOracle answers the questions in one file in another; who compares is not here.
func TestOracle(t *testing.T) {
	text, err := os.ReadFile(os.Getenv("ORACLE_QUESTIONS"))
	if err != nil {
		t.Fatal(err)
	}
	var questions []question
	if err := json.Unmarshal(text, &questions); err != nil {
		t.Fatal(err)
	}
	answers := make([]answer, 0, len(questions))
	for i := range questions {
		answers = append(answers, answerTo(t, &questions[i]))
	}
	if text, err = json.Marshal(answers); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("ORACLE_ANSWERS"), text, 0o644); err != nil {
		t.Fatal(err)
	}
}
