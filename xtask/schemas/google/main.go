// Reads lines as Google Cloud's logging agents do, and checks the entries against Google's
// protocol buffers: LogEntry for each line, and ReportedErrorEvent for each that says so.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"cloud.google.com/go/errorreporting/apiv1beta1/errorreportingpb"
	"cloud.google.com/go/logging/apiv2/loggingpb"
	"google.golang.org/protobuf/encoding/protojson"
)

const prefix = "logging.googleapis.com/"

// The special fields of https://cloud.google.com/logging/docs/structured-logging, and those that the
// agents take beside them (fluent-plugin-google-cloud, out_stackdriver of Fluent Bit), each with its
// name in a LogEntry. Those without a name replace the resource, the log or the time of the entry, so
// no line may have them.
var special = map[string]string{
	"severity":                "severity",
	"time":                    "timestamp",
	"httpRequest":             "httpRequest",
	prefix + "labels":         "labels",
	prefix + "insertId":       "insertId",
	prefix + "operation":      "operation",
	prefix + "sourceLocation": "sourceLocation",
	prefix + "spanId":         "spanId",
	prefix + "trace":          "trace",
	prefix + "trace_sampled":  "traceSampled",

	"timestamp":                       "",
	"timestampSeconds":                "",
	"timestampNanos":                  "",
	"timeNanos":                       "",
	"log":                             "",
	"kubernetes":                      "",
	"docker":                          "",
	prefix + "severity":               "",
	prefix + "logName":                "",
	prefix + "http_request":           "",
	prefix + "monitored_resource":     "",
	prefix + "local_resource_id":      "",
	prefix + "instrumentation_source": "",
}

// Names that the hostile records are to have, from Google's own descriptors.
func names() {
	for name := range special {
		fmt.Println(name)
	}
	fields := (&loggingpb.LogEntry{}).ProtoReflect().Descriptor().Fields()
	for at := range fields.Len() {
		fmt.Println(fields.Get(at).JSONName())
		fmt.Println(prefix + fields.Get(at).JSONName())
	}
	fields = (&errorreportingpb.ReportedErrorEvent{}).ProtoReflect().Descriptor().Fields()
	for at := range fields.Len() {
		fmt.Println(fields.Get(at).JSONName())
	}
	fmt.Println("@type\nstack_trace\nexception")
}

func check(line []byte) error {
	record := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &record); err != nil {
		return err
	}
	entry := map[string]any{}
	for key, value := range record {
		name, isSpecial := special[key]
		if strings.HasPrefix(key, prefix) && !isSpecial {
			return fmt.Errorf("%s is in Google's own namespace", key)
		}
		if isSpecial && name == "" {
			return fmt.Errorf("%s is taken out of the payload", key)
		}
		if isSpecial {
			entry[name] = value
			delete(record, key)
		}
	}
	for _, key := range []string{"severity", "timestamp"} {
		if _, has := entry[key]; !has {
			return fmt.Errorf("no %s", key)
		}
	}
	entry["jsonPayload"] = record
	made, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	var parsed loggingpb.LogEntry
	if err := protojson.Unmarshal(made, &parsed); err != nil {
		return fmt.Errorf("LogEntry: %w", err)
	}
	if err := parsed.GetTimestamp().CheckValid(); err != nil {
		return err
	}
	if name := parsed.GetSeverity().String(); `"`+name+`"` != string(entry["severity"].(json.RawMessage)) {
		return fmt.Errorf("the severity %s", name)
	}
	if got := len(parsed.GetJsonPayload().GetFields()); got != len(record) {
		return fmt.Errorf("%d of %d fields in the payload", got, len(record))
	}
	return checkError(record)
}

// Error Reporting reads the text of the error from stack_trace, exception or message, in this order.
func checkError(record map[string]json.RawMessage) error {
	for _, key := range []string{"stack_trace", "exception", "message"} {
		if value, has := record[key]; has && !bytes.HasPrefix(value, []byte(`"`)) {
			return fmt.Errorf("%s is no text: %s", key, value)
		}
	}
	if _, has := record["@type"]; !has {
		return nil
	}
	type0 := "type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent"
	if string(record["@type"]) != `"`+type0+`"` {
		return fmt.Errorf("@type is %s", record["@type"])
	}
	made, err := json.Marshal(record)
	if err != nil {
		return err
	}
	var event errorreportingpb.ReportedErrorEvent
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(made, &event); err != nil {
		return fmt.Errorf("ReportedErrorEvent: %w", err)
	}
	return nil
}

// Lines that the check must refuse.
var controls = []string{
	`{"time":"2026-01-01T00:00:00Z","severity":"ERROR","httpRequest":"GET /"}`,
	`{"time":"2026-01-01T00:00:00Z","severity":"WARN"}`,
	`{"time":"yesterday","severity":"ERROR"}`,
	`{"time":"2026-01-01T00:00:00Z","severity":"ERROR","logging.googleapis.com/labels":{"a":1}}`,
	`{"time":"2026-01-01T00:00:00Z","severity":"ERROR","logging.googleapis.com/insertId":{}}`,
	`{"time":"2026-01-01T00:00:00Z","severity":"ERROR","logging.googleapis.com/x":1}`,
	`{"time":"2026-01-01T00:00:00Z","severity":"ERROR","timeNanos":"x"}`,
	`{"time":"2026-01-01T00:00:00Z","severity":"ERROR","stack_trace":1}`,
	`{"time":"2026-01-01T00:00:00Z","severity":"ERROR","@type":"type.googleapis.com/google.devtools.clouderrorreporting.v1beta1.ReportedErrorEvent","serviceContext":"x"}`,
}

func run() error {
	if os.Args[1] == "--names" {
		names()
		return nil
	}
	for _, control := range controls {
		if check([]byte(control)) == nil {
			return fmt.Errorf("accepted %s", control)
		}
	}
	file, err := os.Open(os.Args[1])
	if err != nil {
		return err
	}
	defer file.Close()
	lines, refused := 0, 0
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<28)
	for scanner.Scan() {
		lines++
		if err := check(scanner.Bytes()); err != nil {
			if refused++; refused <= 20 {
				fmt.Printf("%v: %.300s\n", err, scanner.Text())
			}
		}
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	fmt.Printf("%d lines, %d refused\n", lines, refused)
	if lines == 0 || refused > 0 {
		return fmt.Errorf("refused")
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
