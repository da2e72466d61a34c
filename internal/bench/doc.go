// Package bench measures how many refunds the door accepts, in turns with a baseline, the floor: pgbench writes the same
// rows into the same tables on the same machine, one transaction per refund, each in one pipeline. The ratio to the floor
// can be compared between machines; refunds per second cannot.
//
// Door and floor alternate, each in a new schema after a CHECKPOINT, so that neither has to handle the other's data. The
// result is the median of the rounds. The package depends neither on the store nor on the server: its callers supply the
// schema and the way in which a refund is accepted.
package bench
