// SPDX-License-Identifier: BSD-2-Clause

// gopacket and what it needs are taken from Debian's packages (scripts/bootstrap demo).
// Elsewhere, remove the three replace lines that name /usr/share/gocode.

module libfp/examples/flows-go

go 1.19

require (
	github.com/gopacket/gopacket v1.0.0
	libfp/fp v0.0.0
)

require (
	golang.org/x/net v0.7.0 // indirect
	golang.org/x/sys v0.5.0 // indirect
)

replace libfp/fp => ../../bindings/go

replace github.com/gopacket/gopacket => /usr/share/gocode/src/github.com/gopacket/gopacket

replace golang.org/x/net => /usr/share/gocode/src/golang.org/x/net

replace golang.org/x/sys => /usr/share/gocode/src/golang.org/x/sys
