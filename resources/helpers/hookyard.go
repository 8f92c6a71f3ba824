// Package hookyard runs a Hookyard for a Go test: a pipeline of its own, in memory, on free ports,
// with a paused clock.
//
// Copy this file into your module. It needs nothing but the standard library and the hookyard
// program: `npx --no-install hookyard`, or what the variable HOOKYARD_COMMAND says.
//
//	h := hookyard.Start(t)
//	h.Configure(map[string]any{"sources": []any{map[string]any{"name": "Shop", "writeKey": "wk"}}})
package hookyard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Hookyard is a running pipeline. It ends with its test.
type Hookyard struct {
	IngestURL    string `json:"ingestUrl"`
	EndpointsURL string `json:"endpointsUrl"`
	UIURL        string `json:"uiUrl"`
	Token        string `json:"token"`
	t            testing.TB
}

// Message is what a list says of a message.
type Message struct {
	ID        string `json:"id"`
	MessageID string `json:"messageId"`
	Type      string `json:"type"`
	Event     string `json:"event"`
	UserID    string `json:"userId"`
	State     string `json:"state"`
	Attempts  int    `json:"attempts"`
}

// Start fails the test when Hookyard does not start.
func Start(t testing.TB) *Hookyard {
	t.Helper()
	command := os.Getenv("HOOKYARD_COMMAND")
	if command == "" {
		command = "npx --no-install hookyard"
	}
	words := append(strings.Fields(command), "serve", "--data", ":memory:", "--json", "--until-input-ends",
		"--ingest-port", "0", "--ui-port", "0", "--endpoints-port", "0", "--endpoints-tls-port", "0")
	process := exec.Command(words[0], words[1:]...)
	process.Stderr = os.Stderr
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	input, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Not by a signal: npx does not pass it on.
		_ = input.Close()
		_ = process.Wait()
	})
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		t.Fatal("Hookyard did not start; standard error says why.")
	}
	h := &Hookyard{t: t}
	if err := json.Unmarshal(line, h); err != nil {
		t.Fatal(err)
	}
	h.Call("POST", "clock", map[string]any{"mode": "paused"}, nil)
	return h
}

// Call is any call of the control API. The answer is decoded into answer, unless that is nil.
func (h *Hookyard) Call(method, path string, body, answer any) {
	h.t.Helper()
	var data io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			h.t.Fatal(err)
		}
		data = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, h.UIURL+"/api/"+path, data)
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+h.Token)
	h.do(request, answer)
}

func (h *Hookyard) do(request *http.Request, answer any) {
	h.t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	if response.StatusCode >= 400 {
		h.t.Fatalf("%s %s answered %d: %s", request.Method, request.URL.Path, response.StatusCode, text)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			h.t.Fatal(err)
		}
	}
}

// Configure takes the members of a configuration file: sources, endpoints, destinations, audiences.
func (h *Hookyard) Configure(document map[string]any) {
	h.t.Helper()
	whole := map[string]any{"version": 1}
	for name, value := range document {
		whole[name] = value
	}
	h.Call("POST", "configuration", whole, nil)
}

// Send sends a batch to ingest. Your own client library sends to IngestURL.
func (h *Hookyard) Send(writeKey string, messages ...map[string]any) {
	h.t.Helper()
	text, err := json.Marshal(map[string]any{"writeKey": writeKey, "batch": messages})
	if err != nil {
		h.t.Fatal(err)
	}
	request, err := http.NewRequest("POST", h.IngestURL+"/v1/batch", bytes.NewReader(text))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	h.do(request, nil)
}

// AdvanceToIdle moves the clock until nothing is due.
func (h *Hookyard) AdvanceToIdle() {
	h.t.Helper()
	h.Call("POST", "clock/advance", map[string]any{"to": "idle"}, nil)
}

// Advance moves the clock.
func (h *Hookyard) Advance(by time.Duration) {
	h.t.Helper()
	h.Call("POST", "clock/advance", map[string]any{"byMs": by.Milliseconds()}, nil)
}

// Messages are those that match the inspector's filter: state:failed user:u_1
func (h *Hookyard) Messages(filter string) []Message {
	h.t.Helper()
	var page struct {
		Items []Message `json:"items"`
	}
	h.Call("GET", "messages?limit=200&filter="+url.QueryEscape(filter), nil, &page)
	return page.Items
}

// Wait returns when so many messages match, and fails the test after the timeout.
func (h *Hookyard) Wait(filter string, count int, timeout time.Duration) []Message {
	h.t.Helper()
	for ends := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		found := h.Messages(filter)
		if len(found) >= count {
			return found
		}
		if time.Now().After(ends) {
			h.t.Fatal(fmt.Sprintf("%d of %d messages match %q after %s. There are: %+v", len(found), count, filter, timeout, h.Messages("")))
		}
	}
}
