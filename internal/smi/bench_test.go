package smi

import "testing"

func BenchmarkParseTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ParseTable(a3)
	}
}
