package diagnose

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"npu/internal/blackbox/plog"
)

// comm is what the communication library said of an incident: how ranks failed to come together, or a link broke.
type comm struct {
	cause   string   // in words; empty if only a wait is known
	advice  string   // for this cause
	why     []string // who did not reach whom
	missing []int    // ranks that never came
	joined  []int    // ranks that did, where the log lists them
	op      string   // the collective that waited: AllReduce
	need    int      // ranks that were expected; 0 unknown
}

const maxWhy = 8

func (c *comm) because(s string) {
	if len(c.why) < maxWhy && !slices.Contains(c.why, s) {
		c.why = append(c.why, s)
	}
}

// commLine reads the errors of the communication library; true if the line was one that it knows. Its own lines say how
// ranks did not come together, which the codes of other libraries only report as a failed call.
func (a *Analyzer) commLine(p *process, r *plog.Record) bool {
	t := r.Text
	if has(t, "Cluster Exception Location[IP/ID]") { // in messages of other libraries too
		in := a.commIncident(p, r, kindWait)
		in.comm.because(strings.TrimSpace(fmt.Sprintf("the heartbeat of the ranks names device %s (host address/device): %s",
			bracketed(t, "Location[IP/ID]:"), strings.ToLower(bracketed(t, "ExceptionType:")))))
		return true
	}
	if r.Level != plog.Error || r.Cont || r.Module != "HCCL" && r.Module != "HCCP" && r.Module != "ROCE" {
		return false
	}
	switch {
	case has(t, "listen on ip"):
		where := bracketed(t, "listen on ip")
		if port := bracketed(t, "specific port"); port != "" {
			where += " port " + port
		}
		a.commCause(p, r, "the communication library cannot listen on "+where+": the port is in use, or the address is not of this host",
			"end what still holds the port (a process of the last run is the usual one: ss -ltnp, npu-smi info), or give each job ports of its own")
	case has(t, "cqe err") || has(t, "error cqe status"):
		s := "an RDMA transfer between hosts failed"
		n := intField(t, "status[", "status: ")
		if n == nil {
			break
		}
		if v, ok := hexField(t, "cqe status: "); ok {
			*n = int(v)
		}
		s += fmt.Sprintf(": completion status %d", *n)
		if *n == 12 || *n == 0x15 { // of the verbs interface, of the adapter
			s += ", the other side did not answer any more"
		}
		in := a.commCause(p, r, s, "look at the network between the two: port down, cable or optics, a switch that drops packets, another MTU; hccn_tool -i N -link_stat -g and -stat -g on both sides")
		if peer := bracketed(t, "ip:"); peer != "" {
			in.comm.because("the other side is " + peer)
		} else if i := bytes.Index(t, []byte("remoteIP{")); i >= 0 {
			side := bracketed(t[i:], "deviceIp")
			if host := bracketed(t[i:], "server"); host != "" {
				side += " on host " + host
			}
			in.comm.because("the other side is " + side)
		}
	case has(t, "[ParameterConflict]") || has(t, "check fail") && has(t, "local[") && has(t, "remote["):
		in := a.commCause(p, r, "the ranks called different collectives, or with different arguments", "compare the order, sizes and types of the collectives of the ranks")
		in.comm.because(commText(t))
	case linkRow.Match(t):
		m := linkRow.FindSubmatch(t)
		in := a.commIncident(p, r, kindWait)
		in.comm.because(fmt.Sprintf("rank %s (%s) and rank %s (%s) did not connect: %s", m[4], m[3], m[2], m[1], linkState(t)))
		if n, err := strconv.Atoi(string(m[2])); err == nil {
			in.peer(n)
		}
	case has(t, "socket establish timeout") || has(t, "get socket timeout") || has(t, "timeout for sockets") || has(t, "connection failure between this device and target") || has(t, "p2p timeout") || has(t, "Transport init error"):
		in := a.commIncident(p, r, kindWait)
		if l, o := intField(t, "logicDevid:"), intField(t, "physic id:"); l != nil && o != nil {
			in.comm.because(fmt.Sprintf("device %d (logical) waited for peer access to device %d (physical)", *l, *o))
		} else if peer := intField(t, "remoteUserrank["); peer != nil {
			in.peer(*peer)
		}
		if s := intField(t, "timeout[", "timeout:"); s != nil && in.notify.Seconds == 0 {
			in.notify.Seconds = *s
		}
	case has(t, "total connected num is") || has(t, "need connect rankNum"):
		in := a.commIncident(p, r, kindWait)
		if n := intField(t, "need connect rankNum is ["); n != nil {
			in.comm.need = *n
		}
	case has(t, "connected rankinfo"):
		in := a.commIncident(p, r, kindWait)
		for _, m := range rankList.FindAllSubmatch(after(t, "]:"), 4096) {
			if n, err := strconv.Atoi(string(m[1])); err == nil && len(in.comm.joined) < 1<<16 {
				in.comm.joined = append(in.comm.joined, n)
			}
		}
	case has(t, "Failed to connect agent["):
		in := a.commIncident(p, r, kindWait)
		v, _ := list(after(t, "connect agent["))
		for _, n := range v {
			if in.comm.missing = append(in.comm.missing, int(n)); len(in.comm.missing) > 1<<12 {
				break
			}
		}
	case has(t, "Task run failed, base information"):
		k := kindWait
		in := a.commIncident(p, r, k)
		if in.stream == nil {
			in.stream, in.task = intField(t, "streamID:["), intField(t, "taskID[", "taskID:[")
		}
		if op, _, ok := strings.Cut(bracketed(t, " tag"), "_"); ok && in.comm.op == "" {
			in.comm.op = op
		}
	case has(t, "base information is streamId:"): // of the part that runs on the device
		k := kindWait
		if !has(t, "NOTIFY WAIT") {
			k = kindComm
		}
		in := a.commIncident(p, r, k)
		if in.stream == nil {
			in.stream, in.task = intField(t, "streamId:"), intField(t, "taskId:")
		}
		peer := intField(t, "remoteRank:")
		if peer != nil && *peer < 1<<24 { // else: no rank
			in.peer(*peer)
		}
		if k == kindComm && in.comm.cause == "" {
			in.comm.cause, in.comm.advice = "a transfer of a collective failed on the device ("+word(after(t, "type:"))+")", "read the log and the memory faults (npu-smi info -t ecc) of the other rank, and the link between the two"
			if in.notify.Peer != nil {
				in.comm.because(fmt.Sprintf("the other side is rank %d", *in.notify.Peer))
			}
		}
	case has(t, "opData information is tag:"):
		if in := a.commIncident(p, r, kindWait); in.comm.op == "" {
			in.comm.op, _, _ = strings.Cut(word(after(t, "is tag:")), "_")
		}
	case has(t, "remote rank:["):
		if n := intField(t, "remote rank:["); n != nil {
			a.commIncident(p, r, kindWait).peer(*n)
		}
	case has(t, "[RanktableCheck]") || has(t, "[RanktableConfig]") || has(t, "[EnvConfig]") || has(t, "in the ranktable is inconsistent") || has(t, "[Parse]") && has(t, "is invalid"):
		a.commCause(p, r, "the configuration of the collective communication is wrong: "+commText(t), "the text names what; compare the rank table, the HCCL_ variables and the network addresses of all hosts")
	default:
		return false
	}
	return true
}

func (a *Analyzer) commIncident(p *process, r *plog.Record, k kind) *incident {
	in := a.incidentFor(p, r, k)
	if in.comm == nil {
		in.comm = &comm{}
	}
	if in.notify == nil {
		in.notify = &Notify{ID: -1}
	}
	a.cite(in, r)
	return in
}

// commCause notes a cause of its own: the first one of a process counts.
func (a *Analyzer) commCause(p *process, r *plog.Record, cause, advice string) *incident {
	in := a.commIncident(p, r, kindComm)
	if in.comm.cause == "" {
		in.comm.cause, in.comm.advice = cause, advice
	}
	return in
}

func (in *incident) peer(rank int) {
	if in.notify.Peer == nil {
		in.notify.Peer = &rank
	}
}

var (
	// linkRow is a line of the table of links: |  dest_ip(rank)  |  [port  |]  src_ip(rank)  |  [port  |]  role  |  status  |
	linkRow  = regexp.MustCompile(`\|\s*([^\s|(]+)\((\d+)\)\s*\|(?:\s*\d+\s*\|)?\s*([^\s|(]+)\((\d+)\)\s*\|`)
	rankList = regexp.MustCompile(`\[(\d+)\]`)
)

// linkState is the state at the end of a row of the table of links.
func linkState(t []byte) string {
	for c := range bytes.SplitSeq(t, []byte{'|'}) {
		if c = bytes.TrimSpace(c); has(c, "time out") || has(c, "no connect") || has(c, "timeout") || has(c, "fail") {
			return excerpt(c)
		}
	}
	return "no connection"
}

// bracketed reads "key[text]" or "key:[text]".
func bracketed(t []byte, key string) string {
	v := after(t, key)
	if v = bytes.TrimLeft(v, ": "); len(v) == 0 || v[0] != '[' {
		return ""
	}
	end := bytes.IndexByte(v, ']')
	if end < 0 {
		return ""
	}
	return excerpt(v[1:end])
}

// commText is the text of a line without the marks in brackets in front of it.
func commText(t []byte) string {
	for t = bytes.TrimSpace(t); len(t) > 0 && t[0] == '['; t = bytes.TrimSpace(t) {
		end := bytes.IndexByte(t, ']')
		if end < 0 {
			break
		}
		t = t[end+1:]
	}
	if v := after(t, "errNo["); v != nil && bytes.HasPrefix(t, []byte("errNo[")) {
		if end := bytes.IndexByte(v, ']'); end >= 0 {
			t = bytes.TrimSpace(v[end+1:])
		}
	}
	return strings.TrimRight(excerpt(t[:min(len(t), 240)]), " .;")
}

// absentRanks are those that never came, as far as the log tells.
func (c *comm) absentRanks() []int {
	if len(c.missing) > 0 || len(c.joined) == 0 || c.need <= len(c.joined) || c.need > 1<<16 {
		return c.missing
	}
	joined := map[int]bool{}
	for _, n := range c.joined {
		joined[n] = true
	}
	var out []int
	for n := range c.need {
		if !joined[n] {
			out = append(out, n)
		}
	}
	return out
}

func judgeComm(f *Finding, in *incident) {
	c := in.comm
	if c == nil || c.cause == "" {
		judgeCode(f, in)
		return
	}
	f.Cause, f.Why, f.Advice = c.cause, append(f.Why, c.why...), append(f.Advice, c.advice)
	f.Confidence = "medium"
}
