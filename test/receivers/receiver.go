// A receiver on net/http. It is right, except for the one bug that -bug names.
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

var (
	bug      = flag.String("bug", "", "")
	_        = flag.String("style", "chunked", "the only one")
	port     = flag.Int("port", 0, "")
	secret   = flag.String("secret", "", "")
	secondMs = flag.Float64("second-ms", 1000, "")
)

// All members that a payload can have.
type message struct {
	Version           int            `json:"version"`
	Type              string         `json:"type"`
	MessageID         string         `json:"messageId"`
	UserID            string         `json:"userId"`
	AnonymousID       string         `json:"anonymousId"`
	AliasUserID       string         `json:"User ID"`
	PreviousID        string         `json:"Previous ID"`
	GroupID           string         `json:"groupId"`
	Timestamp         string         `json:"timestamp"`
	Event             string         `json:"event"`
	Name              any            `json:"name"`
	Category          any            `json:"category"`
	Properties        map[string]any `json:"properties"`
	Traits            map[string]any `json:"traits"`
	Context           any            `json:"context"`
	Integrations      any            `json:"integrations"`
	Channel           any            `json:"channel"`
	ReceivedAt        any            `json:"receivedAt"`
	SentAt            any            `json:"sentAt"`
	OriginalTimestamp any            `json:"originalTimestamp"`
}

type effect struct {
	Type   string `json:"type"`
	UserID string `json:"userId"`
	Token  any    `json:"token"`
	At     string `json:"at"`
}

var (
	lock     sync.Mutex
	effects  = []effect{}
	profiles = map[string]effect{}
	done     = map[string]bool{}
)

var knownTypes = map[string]func(effect){
	"identify": func(e effect) {
		if known, ok := profiles[e.UserID]; !ok || known.At <= e.At {
			profiles[e.UserID] = e
		}
	},
	"delete": func(e effect) {
		delete(profiles, e.UserID)
		add(e)
	},
	"track": add, "page": add, "screen": add, "group": add, "alias": add,
}

func add(e effect) {
	effects = append(effects, e)
}

func isSigned(body []byte, signature string) bool {
	mac := hmac.New(sha1.New, []byte(*secret))
	mac.Write(body)
	given, err := hex.DecodeString(signature)
	return err == nil && hmac.Equal(given, mac.Sum(nil))
}

func read(r *http.Request) ([]byte, error) {
	if *bug == "reads-once" {
		body := make([]byte, 65536)
		count, _ := r.Body.Read(body)
		return body[:count], nil
	}
	return io.ReadAll(r.Body)
}

func parse(body []byte) (m message, err error) {
	if *bug == "unknown-members-panic" && json.Valid(body) {
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&m); err != nil {
			panic(err)
		}
	}
	err = json.Unmarshal(body, &m)
	return m, err
}

func effectOf(m message) effect {
	e := effect{Type: m.Type, UserID: m.UserID, At: m.Timestamp}
	for _, id := range []string{m.AliasUserID, m.AnonymousID} {
		if e.UserID == "" {
			e.UserID = id
		}
	}
	for _, members := range []map[string]any{m.Properties, m.Traits} {
		if members["token"] != nil {
			e.Token = members["token"]
		}
	}
	return e
}

func takeEffect(ctx context.Context, m message) {
	key := m.MessageID
	if m.Type == "delete" && *bug != "delete-without-id" {
		key = "delete " + m.UserID
	}
	lock.Lock()
	if done[key] && *bug != "no-idempotency" {
		lock.Unlock()
		return
	}
	done[key] = true
	if *bug == "abandoned-work" {
		lock.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(*secondMs * 0.1 * float64(time.Millisecond))):
		}
		lock.Lock()
	}
	defer lock.Unlock()
	knownTypes[m.Type](effectOf(m))
}

func receive(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := read(r)
	if err != nil || !isSigned(body, r.Header.Get("X-Signature")) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if *bug == "empty-body-panic" && body[0] != '{' {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	m, err := parse(body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if knownTypes[m.Type] != nil || *bug == "unknown-type-panic" {
		takeEffect(r.Context(), m)
	}
	answer(w)
}

// An answer in two chunks.
func answer(w http.ResponseWriter) {
	fmt.Fprint(w, "received,")
	w.(http.Flusher).Flush()
	fmt.Fprintln(w, " thank you")
}

func listEffects(w http.ResponseWriter, _ *http.Request) {
	lock.Lock()
	defer lock.Unlock()
	byUser := map[string][]effect{}
	for id, profile := range profiles {
		byUser[id] = []effect{profile}
	}
	for _, e := range effects {
		byUser[e.UserID] = append(byUser[e.UserID], e)
	}
	users := []any{}
	for _, events := range byUser {
		users = append(users, map[string]any{"account": len(users) + 1, "events": events})
	}
	json.NewEncoder(w).Encode(map[string]any{"count": len(users), "store": map[string]any{"users": users}})
}

func main() {
	flag.Parse()
	log.SetOutput(io.Discard)
	http.HandleFunc("/hooks", receive)
	http.HandleFunc("/effects", listEffects)
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go http.Serve(listener, nil)
	io.Copy(io.Discard, os.Stdin)
}
