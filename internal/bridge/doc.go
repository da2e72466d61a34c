// Package bridge consumes events from message brokers. It decodes CloudEvents to intakes,
// passes them to the Door in groups, acknowledges a message after a known COMMIT, and
// parks messages that cannot be processed. Each broker has a folder of its own.
package bridge
