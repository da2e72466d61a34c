// Command sdk sends one event with the CloudEvents SDK of Go. It is a module of its own, so that the product does not depend on the
// SDK's client.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

func main() {
	var call struct {
		Mode, ID, Data, Type string
		Bytes                bool
	}
	if err := json.Unmarshal([]byte(os.Getenv("CALL")), &call); err != nil {
		log.Fatal(err)
	}
	event := cloudevents.NewEvent()
	event.SetID(call.ID)
	event.SetSource("/shop")
	event.SetType("refund.requested")
	event.SetTime(time.Date(2026, 11, 30, 18, 0, 0, 123456789, time.FixedZone("", 3600)))
	if call.Type == "" {
		call.Type = cloudevents.ApplicationJSON
	}
	var err error
	if call.Bytes {
		err = event.SetData("", []byte(call.Data))
		event.SetDataContentType("") // the SDK then cannot know that the bytes are JSON
	} else {
		err = event.SetData(call.Type, json.RawMessage(call.Data))
	}
	if err != nil {
		log.Fatal(err)
	}
	client, err := cloudevents.NewClientHTTP(cloudevents.WithTarget(os.Getenv("BASE")+"/v1/events"),
		cloudevents.WithHeader("Authorization", "Bearer "+os.Getenv("KEY")))
	if err != nil {
		log.Fatal(err)
	}
	ctx := cloudevents.WithEncodingBinary(context.Background())
	if call.Mode == "structured" {
		ctx = binding.WithForceStructured(context.Background())
	}
	reply, result := client.Request(ctx, event) // as Knative and others: a body in the answer is an event in reply
	var status *cehttp.Result
	if !cloudevents.IsACK(result) || cloudevents.ResultAs(result, &status) && status.StatusCode/100 != http.StatusOK/100 {
		log.Fatal(result)
	}
	fmt.Println(result, reply)
}
