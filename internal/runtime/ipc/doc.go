// Package ipc is what the processes of one user on one machine share: a run directory with a process table, device
// memory in use, a telemetry page for each process, and sockets over which memory and events are handed from one process
// to another.
//
// # The run directory
//
//	table      mapped by every process: for each slot its pid and clock words, for each device the memory claims
//	NNN.slot   the telemetry page of slot NNN; its process holds a lock on the file as long as it lives
//	NNN.sock   the socket on which slot NNN hands out what it has exported
//	NNN.live   the records of slot NNN's tasks while another process follows them (package live)
//	NNN.poke   a pipe; a byte wakes slot NNN to drive its devices on behalf of a stalled peer
//
// A process is alive as long as the lock on its slot file is held, never because its pid exists. Whoever looks removes
// what a dead one has left. The directory belongs to one user and to nobody else (mode 0700); a directory of others, or
// one that others may enter, is refused.
//
// It knows no device and no virtual time: package runtime ties it to the simulator.
//
// # Keys
//
// What a process exports has a key that nobody can guess. An importer asks for it on the exporter's socket; the kernel
// says who asks; the answer carries a descriptor. The connection then stays: its end tells either side that the other
// has let go or died.
//
// Goroutines: one for each Slot that exports and one for each connection, ended by Slot.Close; one for each Import, ended
// by Import.Close; one for the pipe (Slot.OnPoke), ended by Slot.Close. Locks: Dir.mu guards the cached slot files,
// Slot.mu what belongs to the place, server.mu and Export.mu what is exported; none is held while another is taken.
package ipc
