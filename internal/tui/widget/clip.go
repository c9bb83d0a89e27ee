package widget

import "encoding/base64"

// Clip is the escape that puts s into the clipboard of the terminal (OSC 52), over SSH as well. It goes out with a frame.
func Clip(s string) string {
	return "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(s)) + "\a"
}
