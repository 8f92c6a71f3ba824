// Every call of three versions of analytics-go: client VERSION ENDPOINT KEY COUNT.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/segmentio/analytics-go/v3"
	go120 "hookyard.test/go120"
	go200 "hookyard.test/go200"
)

func main() {
	version, endpoint, key := os.Args[1], os.Args[2], os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	switch version {
	case "1.2":
		version1(endpoint, key, count)
	case "2.0":
		version2(endpoint, key, count)
	case "3":
		version3(endpoint, key, count)
	default:
		panic("unknown version " + version)
	}
}

func version1(endpoint, key string, count int) {
	client := go120.New(key)
	client.Endpoint = endpoint
	for n := 1; n <= count; n++ {
		user := fmt.Sprint("u_", n)
		numbered := map[string]interface{}{"n": n}
		switch n % 6 {
		case 0:
			check(client.Identify(go120.Message{"userId": user, "traits": numbered}))
		case 1:
			check(client.Track(go120.Message{"userId": user, "event": "Order Completed", "properties": numbered}))
		case 2:
			check(client.Page(go120.Message{"userId": user, "name": "Home", "properties": numbered}))
		case 3:
			check(client.Screen(go120.Message{"userId": user, "name": "Main", "properties": numbered}))
		case 4:
			check(client.Group(go120.Message{"userId": user, "groupId": "acme", "traits": numbered}))
		case 5:
			check(client.Alias(go120.Message{"userId": user, "previousId": "before"}))
		}
		if n == count/2 {
			check(client.Flush())
		}
	}
	client.Close()
}

// It has no screen call and no flush.
func version2(endpoint, key string, count int) {
	client := go200.New(key)
	client.Endpoint = endpoint
	for n := 1; n <= count; n++ {
		user := fmt.Sprint("u_", n)
		numbered := map[string]interface{}{"n": n}
		switch n % 5 {
		case 0:
			check(client.Identify(&go200.Identify{UserId: user, Traits: numbered}))
		case 1:
			check(client.Track(&go200.Track{UserId: user, Event: "Order Completed", Properties: numbered}))
		case 2:
			check(client.Page(&go200.Page{UserId: user, Name: "Home", Traits: numbered}))
		case 3:
			check(client.Group(&go200.Group{UserId: user, GroupId: "acme", Traits: numbered}))
		case 4:
			check(client.Alias(&go200.Alias{UserId: user, PreviousId: "before"}))
		}
	}
	check(client.Close())
}

type sent struct{ done sync.WaitGroup }

func (s *sent) Success(analytics.Message)        { s.done.Done() }
func (s *sent) Failure(analytics.Message, error) { s.done.Done() }

// It has no flush. Close drops a batch that waits for its next try, so the half that meets the
// fault has an answer before Close.
func version3(endpoint, key string, count int) {
	var answered sent
	client, err := analytics.NewWithConfig(key, analytics.Config{
		Endpoint:  endpoint,
		BatchSize: 100,
		Callback:  &answered,
	})
	check(err)
	for n := 1; n <= count; n++ {
		answered.done.Add(1)
		check(client.Enqueue(message3(n)))
		if n == count/2 {
			answered.done.Wait()
		}
	}
	check(client.Close())
}

func message3(n int) analytics.Message {
	user := fmt.Sprint("u_", n)
	properties := analytics.NewProperties().Set("n", n)
	traits := analytics.NewTraits().Set("n", n)
	switch n % 6 {
	case 0:
		return analytics.Identify{UserId: user, Traits: traits}
	case 1:
		return analytics.Track{UserId: user, Event: "Order Completed", Properties: properties}
	case 2:
		return analytics.Page{UserId: user, Name: "Home", Properties: properties}
	case 3:
		return analytics.Screen{UserId: user, Name: "Main", Properties: properties}
	case 4:
		return analytics.Group{UserId: user, GroupId: "acme", Traits: traits}
	default:
		return analytics.Alias{UserId: user, PreviousId: "before"}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
