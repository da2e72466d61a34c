// Package bench measures what the door takes, beside a floor: pgbench writing the same rows into the same tables on the same
// machine, one transaction per refund, each in one pipeline. A ratio to the floor means something on any machine; refunds per
// second alone do not.
//
// Door and floor take turns, each in a fresh schema, after a CHECKPOINT, so that neither meets the other's leftovers; what is
// told is the median of the rounds. It knows neither the store nor the server: how a schema is made and how a refund is
// accepted is told to it.
package bench
