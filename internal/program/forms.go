package program

import (
	"slices"
	"strings"
)

// Form is one statement of the language: how it is written and what it stands for. The table of them is the source of
// the parser, of the checker's hints and of docs/stream-programs.md.
type Form struct {
	Verb    string
	Usage   string
	Call    string // the public call, empty: none
	Summary string
	Group   string

	parse func(*parser, Head) Stmt
}

// Forms is every statement in the order of the documentation.
func Forms() []Form {
	return slices.Concat(setupForms(), objectForms(), memoryForms(), workForms(), orderForms(), graphForms(), modelForms(), collectiveForms(), poolForms(), faultForms(), profileForms(), hostForms(), controlForms())
}

func formsByVerb() map[string]*Form {
	m := map[string]*Form{}
	for _, f := range Forms() {
		m[f.Verb] = &f
	}
	return m
}

// reserved words cannot be names: they would read as part of the statement.
func reserved(s string) bool {
	switch s {
	case "on", "expect", "default", "device", "timeout", "as", "is", "within", "bytes", "time", "end", "force":
		return true
	}
	return false
}

func setupForms() []Form {
	setup := func(f func(*parser, *Setup)) func(*parser, Head) Stmt {
		return func(s *parser, h Head) Stmt {
			if len(s.open) > 1 || len(s.open[0].body) > 0 {
				s.failAt(h.Pos, h.Verb+" stands behind other statements", "what describes the machine comes first")
				return nil
			}
			f(s, &s.prog.Setup)
			return nil
		}
	}
	const g = "The machine"
	return []Form{
		{"program", "program NAME", "", "names the program; a file that begins with it is recognised whatever its own name is", g,
			func(s *parser, h Head) Stmt {
				switch t := s.next(); t.kind {
				case tokName, tokString:
					s.prog.Name = t.text
				default:
					s.failAt(t.pos, "the program has no name", "program missing_wait")
				}
				return nil
			}},
		{"chip", "chip NAME", "", "the chip to simulate (npu soc list); --soc wins, Ascend910B3 if nothing is said", g,
			setup(func(s *parser, m *Setup) {
				t := s.next()
				if m.Chip = t.text; t.kind != tokName && t.kind != tokString {
					s.failAt(t.pos, "the name of the chip is missing", "npu soc list shows them")
				}
			})},
		{"devices", "devices N", "", "how many devices there are; 1 if nothing is said", g,
			setup(func(s *parser, m *Setup) {
				p := s.peek().pos
				n := s.whole()
				if m.Devices = int(n); s.bad == nil && (n < 1 || n > 16) {
					s.failAt(p, "there can be 1 to 16 devices", "")
				}
			})},
		{"memory", "memory SIZE", "", "device memory of each device; the chip's if nothing is said", g,
			setup(func(s *parser, m *Setup) {
				p := s.peek().pos
				e, ok := s.expr().(*literal)
				switch {
				case s.bad != nil:
				case !ok || e.unit != Size || e.v < 16<<20 || e.v > 256<<30:
					s.failAt(p, "no size of a device memory", "16MiB to 256GiB")
				default:
					m.Memory = e.v
				}
			})},
		{"policy", "policy preempt | reference", "", "the scheduler: between blocks to higher priorities, or whole kernels as the chip; --policy wins", g,
			setup(func(s *parser, m *Setup) { m.Policy = s.oneOf("preempt", "reference") })},
		{"bare", "bare", "", "the main thread begins without a device; otherwise it has called aclrtSetDevice(0)", g,
			setup(func(s *parser, m *Setup) { m.Bare = true })},
	}
}

func objectForms() []Form {
	const g = "Devices, contexts, streams, events"
	return []Form{
		{"device", "device N", "aclrtSetDevice", "makes the device's primary context current in this thread", g,
			func(s *parser, h Head) Stmt { return &DeviceStmt{h, s.expr()} }},
		{"context", "context NAME [device N] [isolated]", "aclrtCreateContext", "makes a context of device N, or of device 0, current in this thread; an isolated one reaches only its own memory", g,
			func(s *parser, h Head) Stmt {
				st := &ContextStmt{Head: h, Name: s.name("context")}
				if s.word("device") {
					st.Device = s.expr()
				}
				st.Isolated = s.word("isolated")
				return st
			}},
		{"use", "use CONTEXT", "aclrtSetCurrentContext", "makes the context current in this thread", g, parseUse},
		{"push", "push CONTEXT", "", "use, and keeps the context before; pop goes back to it", g, parseUse},
		{"pop", "pop", "", "undoes the last push", g, func(s *parser, h Head) Stmt { return &UseStmt{Head: h} }},
		{"stream", "stream NAME [priority N] [persistent] [flags N]", "aclrtCreateStreamWithConfig", "a stream of the current context; priority 0 is the greatest and the default, 7 the least; a persistent one keeps its tasks for a model", g,
			func(s *parser, h Head) Stmt {
				st := &StreamStmt{Head: h, Name: s.name("stream")}
				if s.word("priority") {
					st.Priority = s.expr()
				}
				st.Persistent = s.word("persistent")
				if s.word("flags") {
					st.Flags = s.expr()
				}
				return st
			}},
		{"event", "event NAME [ex | plain | sync]", "aclrtCreateEventExWithFlag, aclrtCreateEvent, aclrtCreateEventWithFlag",
			"an event in one of its three personalities; ex if nothing is said", g,
			func(s *parser, h Head) Stmt {
				st := &EventStmt{Head: h, Name: s.name("event"), Kind: "ex"}
				for _, k := range []string{"ex", "plain", "sync"} {
					if s.word(k) {
						st.Kind = k
						break
					}
				}
				return st
			}},
		{"notify", "notify NAME", "aclrtCreateNotify", "a notify: one record releases one wait", g,
			func(s *parser, h Head) Stmt { return &NotifyStmt{h, s.name("notify")} }},
		{"mode", "mode STREAM stop | continue", "aclrtSetStreamFailureMode", "what a failed task does to its stream, and with stop to its whole context", g,
			func(s *parser, h Head) Stmt {
				return &ModeStmt{h, s.ref("the name of a stream", false), s.oneOf("stop", "continue")}
			}},
		{"attribute", "attribute STREAM failure | overflow | priority | tag [= VALUE | is VALUE]\nattribute POOL follow_events | opportunistic | internal_waits | threshold | reserved | reserved_high | used | used_high [= VALUE | is VALUE]",
			"aclrtSetStreamAttribute, aclrtGetStreamAttribute, aclrtMemPoolSetAttr, aclrtMemPoolGetAttr", "sets an attribute, expects a value of it, or prints it; values are stop and continue, on and off, numbers, sizes", g, parseAttribute},
		{"destroy", "destroy NAME [force]", "aclrtDestroyStream, aclrtDestroyStreamForce, aclrtDestroyEvent, aclrtDestroyNotify, aclrtDestroyContext, aclrtBinaryUnLoad, aclmdlRIDestroy, HcclCommDestroy, aclrtMemPoolDestroy",
			"ends a stream, event, notify, context, kernel, graph, group or pool", g, parseDestroy},
		{"abort", "abort STREAM | GRAPH | device N", "aclrtStreamAbort, aclmdlRIAbort, aclrtDeviceTaskAbort", "stops the running task and drops the queued ones: of a stream, of all streams of a device; or ends the execution of a graph", g, parseDestroy},
		{"stop", "stop STREAM", "aclrtStreamStop", "the running task ends and nothing more is started", g, parseDestroy},
		{"peer", "peer N [off]", "aclrtDeviceEnablePeerAccess, aclrtDeviceDisablePeerAccess", "lets the current device reach device N, or not", g,
			func(s *parser, h Head) Stmt { return &PeerStmt{h, s.expr(), s.word("off")} }},
		{"limit", "limit wait | kernel TIME", "aclrtSetOpWaitTimeout, aclrtSetOpExecuteTimeOutV2", "the longest that a stream may wait for an event, in whole seconds; 0s is for ever. Or the longest that a kernel may run, rounded up to ticks of 4.3 s; 0s is the maximum", g,
			func(s *parser, h Head) Stmt { return &LimitStmt{h, s.oneOf("wait", "kernel"), s.expr()} }},
	}
}

func memoryForms() []Form {
	const g = "Memory"
	return []Form{
		{"buffer", "buffer NAME device | pinned | pageable TYPE [= DATA]", "aclrtMalloc, aclrtMallocHost, malloc",
			"memory for a typed array. Data for a device buffer is brought there by a synchronous copy", g,
			func(s *parser, h Head) Stmt {
				st := &BufferStmt{Head: h, Name: s.name("buffer")}
				st.Kind = map[string]MemKind{"pinned": Pinned, "pageable": Pageable}[s.oneOf("device", "pinned", "pageable")]
				st.Type = s.typeRef()
				if s.punct("=") {
					st.Init = s.init()
				}
				return st
			}},
		{"free", "free BUFFER", "aclrtFree, aclrtFreeHost, free", "gives the memory back", g, parseDestroy},
		{"copy", "copy TO <- FROM [bytes N] [on STREAM]", "aclrtMemcpyAsync, aclrtMemcpy", "copies in the order of the stream; without a stream at once, waiting for no stream", g,
			func(s *parser, h Head) Stmt {
				st := &CopyStmt{Head: h, Dst: s.ref("the buffer to copy to", true)}
				s.need("<-")
				st.Src = s.ref("the buffer to copy from", true)
				if s.word("bytes") {
					st.Bytes = s.expr()
				}
				st.On = s.on()
				return st
			}},
		{"memset", "memset BUFFER BYTE [on STREAM]", "aclrtMemsetAsync, aclrtMemset", "fills device memory with a byte", g,
			func(s *parser, h Head) Stmt {
				return &MemsetStmt{h, s.ref("a buffer", true), s.expr(), s.on()}
			}},
		{"set", "set BUFFER = DATA", "", "the host writes its own memory, now", g,
			func(s *parser, h Head) Stmt {
				st := &SetStmt{Head: h, Dst: s.ref("a buffer", true)}
				s.need("=")
				st.Init = s.init()
				return st
			}},
	}
}

func workForms() []Form {
	const g = "Kernels"
	return []Form{
		{"kernel", "kernel NAME = OPERATOR(TYPE, …) [outputs N] [opset N] [ATTRIBUTE=VALUE …]\nkernel NAME = vector | cube | mix | aicpu [blocks N] time TIME [set V | add V] [fault oob | divzero | hang]",
			"aclrtBinaryLoad, aclrtBinaryGetFunction", "a kernel: an operator of the library with the types of its inputs, or a plain one that lasts a given time per block", g, parseKernel},
		{"launch", "launch KERNEL[(INPUT, … -> RESULT, …)] [on STREAM] [timeout TIME]", "aclrtLaunchKernel, aclrtLaunchKernelWithConfig", "starts the kernel in the order of the stream; a time-out is the limit of this launch", g, parseLaunch},
	}
}

func orderForms() []Form {
	const g = "Order between streams"
	order := func(s *parser, h Head) Stmt {
		st := &OrderStmt{Head: h, What: s.ref("the name of an event or a notify", false)}
		st.External = h.Verb != "reset" && s.word("external")
		st.On = s.on()
		if h.Verb == "wait" && s.word("timeout") {
			st.Timeout = s.expr()
		}
		return st
	}
	return []Form{
		{"record", "record EVENT [external] | NOTIFY [on STREAM]", "aclrtRecordEvent, aclrtRecordEventWithFlag, aclrtRecordNotify", "marks the stream's present end; with external, in a graph, for waits outside of it", g, order},
		{"wait", "wait EVENT [external] | NOTIFY [on STREAM] [timeout TIME]", "aclrtStreamWaitEvent, aclrtStreamWaitEventWithTimeout, aclrtStreamWaitEventWithFlag, aclrtWaitAndResetNotify", "holds the stream until the mark is reached; the host goes on. With external, in a graph, for a record outside of it", g, order},
		{"reset", "reset EVENT [on STREAM]\nreset device N [force]", "aclrtResetEvent, aclrtResetDevice, aclrtResetDeviceForce", "clears the event in the order of the stream; or gives up the device", g,
			func(s *parser, h Head) Stmt {
				if s.word("device") {
					return &ResetDeviceStmt{h, s.expr(), s.word("force")}
				}
				return order(s, h)
			}},
		{"write", "write WORD[I] VALUE [on STREAM]", "aclrtValueWrite", "writes a u64 in device memory in the order of the stream", g,
			func(s *parser, h Head) Stmt {
				return &ValueStmt{Head: h, Word: s.ref("a u64 buffer", true), Value: s.expr(), On: s.on()}
			}},
		{"await", "await WORD[I] >= | == | & | ~ VALUE [on STREAM]", "aclrtValueWait", "holds the stream until the u64 is at least, is, has a bit of, or leaves a bit out of the value", g,
			func(s *parser, h Head) Stmt {
				st := &ValueStmt{Head: h, Word: s.ref("a u64 buffer", true)}
				switch t := s.next(); {
				case t.kind == tokPunct && (t.text == ">=" || t.text == "==" || t.text == "&" || t.text == "~"):
					st.Cond = t.text
				default:
					s.failAt(t.pos, t.String()+": expected >=, ==, & or ~", "")
				}
				st.Value, st.On = s.expr(), s.on()
				return st
			}},
	}
}

func hostForms() []Form {
	const g = "The host"
	call := func(s *parser, h Head) Stmt {
		st := &HostStmt{Head: h, Text: s.str("a text"), On: s.on()}
		for s.bad == nil {
			switch {
			case s.word("time"):
				st.Time = s.expr()
			case h.Verb == "callback" && s.word("noblock"):
				st.NoBlock = true
			default:
				return st
			}
		}
		return st
	}
	return []Form{
		{"sync", "sync STREAM | EVENT | default | device [timeout TIME]", "aclrtSynchronizeStream, aclrtSynchronizeEvent, aclrtSynchronizeDevice",
			"the host waits; with a time-out the …WithTimeout call", g,
			func(s *parser, h Head) Stmt {
				st := &SyncStmt{Head: h, What: s.ref("a stream, an event, default or device", false)}
				if s.word("timeout") {
					st.Timeout = s.expr()
				}
				return st
			}},
		{"query", "query STREAM | EVENT | default [is done | pending]", "aclrtStreamQuery, aclrtQueryEventStatus", "says whether it is done", g,
			func(s *parser, h Head) Stmt {
				st := &QueryStmt{Head: h, What: s.ref("a stream, an event or default", false)}
				if s.word("is") {
					st.Is = s.oneOf("done", "pending")
				}
				return st
			}},
		{"elapsed", "elapsed EVENT EVENT [is TIME [within TIME]]", "aclrtEventElapsedTime", "the device time between the records of two events", g,
			func(s *parser, h Head) Stmt {
				st := &ElapsedStmt{Head: h, A: s.ref("an event", false), B: s.ref("an event", false)}
				if s.word("is") {
					if st.Is = s.expr(); s.word("within") {
						st.Within = s.expr()
					}
				}
				return st
			}},
		{"host", "host TEXT [on STREAM] [time TIME]", "aclrtLaunchHostFunc", "a host function: prints the text, computes for the time; the stream waits for it", g, call},
		{"subscribe", "subscribe STREAM", "aclrtSubscribeReport", "a report thread for the callbacks of the stream", g, parseDestroy},
		{"unsubscribe", "unsubscribe STREAM", "aclrtUnSubscribeReport", "ends it", g, parseDestroy},
		{"callback", "callback TEXT [on STREAM] [time TIME] [noblock]", "aclrtLaunchCallback", "a callback in the stream's report thread; with noblock the stream does not wait", g, call},
		{"watch", "watch faults", "aclrtExceptionInfoCallbackRegister", "prints each fault when its exception callback is called", g,
			func(s *parser, h Head) Stmt { s.oneOf("faults"); return &WatchStmt{h} }},
		{"last", "last CODE | none [keep]", "aclrtGetLastError, aclrtPeekAtLastError", "the thread's last error must be this; keep only looks at it", g,
			func(s *parser, h Head) Stmt {
				st := &LastStmt{Head: h}
				if !s.word("none") {
					if w := s.want(); w != nil {
						st.Code = w.Code
					}
				}
				st.Keep = s.word("keep")
				return st
			}},
		{"work", "work TIME", "", "the host computes for so long", g, func(s *parser, h Head) Stmt { return &WorkStmt{h, s.expr()} }},
		{"print", "print TEXT | BUFFER …", "", "prints, with the thread's time; device memory is read with a synchronous copy", g,
			func(s *parser, h Head) Stmt {
				st := &PrintStmt{Head: h}
				for s.bad == nil && s.peek().kind != tokEnd && s.peek().text != "expect" && len(st.Parts) < 64 {
					if t := s.peek(); t.kind == tokString {
						s.i++
						st.Parts = append(st.Parts, PrintPart{Text: t.text})
						continue
					}
					r := s.ref("a text or a buffer", true)
					st.Parts = append(st.Parts, PrintPart{Ref: &r})
				}
				return st
			}},
		{"expect", "expect BUFFER = DATA [tolerance A [relative R]]\nexpect BUFFER at BUFFER", "", "the buffer must hold this; device memory is read with a synchronous copy. Or it must have the address of another one", g,
			func(s *parser, h Head) Stmt {
				st := &ExpectStmt{Head: h, What: s.ref("a buffer", true)}
				if s.word("at") {
					r := s.ref("a buffer", true)
					st.At = &r
					return st
				}
				s.need("=")
				st.Init = s.init()
				if s.word("tolerance") {
					if st.Tol.ATol = s.float(); s.word("relative") {
						st.Tol.RTol = s.float()
					}
				}
				return st
			}},
	}
}

func controlForms() []Form {
	const g = "Loops and threads"
	return []Form{
		{"repeat", "repeat N [as NAME] … end", "", "runs the lines up to end N times; NAME counts from 0", g,
			func(s *parser, h Head) Stmt {
				st := &RepeatStmt{Head: h, Count: s.expr()}
				if s.word("as") {
					st.As = s.name("variable")
				}
				return st
			}},
		{"thread", "thread NAME … end", "", "a host thread runs the lines up to end; it has this thread's device and knows the names declared before", g,
			func(s *parser, h Head) Stmt {
				if len(s.open) > 1 {
					s.failAt(h.Pos, "a thread inside a block", "threads start in the main part of the program")
				}
				return &ThreadStmt{Head: h, Name: s.name("thread")}
			}},
		{"join", "join [THREAD …]", "", "waits for threads, without a name for all", g,
			func(s *parser, h Head) Stmt {
				st := &JoinStmt{Head: h}
				for s.bad == nil && s.peek().kind == tokName && s.peek().text != "expect" {
					st.Names = append(st.Names, s.ref("the name of a thread", false))
				}
				return st
			}},
		{"mutex", "mutex NAME", "", "a lock between threads", g, func(s *parser, h Head) Stmt { return &MutexStmt{h, s.name("mutex")} }},
		{"lock", "lock MUTEX", "", "waits until the lock is free and takes it", g, parseDestroy},
		{"unlock", "unlock MUTEX", "", "gives it back", g, parseDestroy},
		{"end", "end", "", "ends repeat, thread, if, while, switch, taskgroup or update", g,
			func(s *parser, h Head) Stmt {
				if len(s.open) == 1 {
					s.failAt(h.Pos, "end without a block", "it closes repeat, thread, if, while, switch, taskgroup or update")
					return nil
				}
				s.close()
				return nil
			}},
	}
}

func parseUse(s *parser, h Head) Stmt { return &UseStmt{h, s.ref("the name of a context", false)} }

func parseDestroy(s *parser, h Head) Stmt {
	if h.Verb == "abort" && s.word("device") {
		return &DestroyStmt{Head: h, Device: s.expr()}
	}
	st := &DestroyStmt{Head: h, What: s.ref("a name", false)}
	st.Force = h.Verb == "destroy" && s.word("force")
	return st
}

// didYouMean is a hint with the verb that a wrong one resembles.
func didYouMean(word string, forms map[string]*Form) string {
	best, score := "", 3
	for _, f := range Forms() {
		if d := distance(word, f.Verb); d < score {
			best, score = f.Verb, d
		}
	}
	if best == "" {
		return "see docs/stream-programs.md for the statements"
	}
	return "did you mean: " + strings.ReplaceAll(forms[best].Usage, "\n", ", or: ")
}

// distance is the number of letters to insert, drop or change.
func distance(a, b string) int {
	if len(a) > 32 || len(b) > 32 {
		return 32
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diag
			if a[i] != b[j] {
				d = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
