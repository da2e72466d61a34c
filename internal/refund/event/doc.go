// Package event turns rows of the journal into the public events that sinks publish and webhooks deliver.
//
// An event contains only what its journal row says: its bytes depend on the row and on the refund's immutable parameters
// alone, so that every encoding of one event gives the same bytes. Receivers keep the highest seq of a refund; they read the
// present state from the API. Facts without a row in a refund's journal (a foreign refund of a payment, a held line, an
// excess) have no event.
//
// The bytes are described in docs/bytes.md.
package event
