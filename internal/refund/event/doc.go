// Package event turns rows of the journal into the public events that sinks
// publish and webhooks deliver.
//
// An event tells what one journal row says and nothing that became known
// later: its bytes depend on the row and on the refund's immutable parameters
// alone, so that every encoding of one event gives the same bytes. Receivers
// take the highest seq of a refund; what they need of the present they ask the
// API for. Facts that have no row in a refund's journal (a foreign refund of a
// payment, a held line, an excess) give no event.
//
// The bytes are described in docs/bytes.md.
package event
