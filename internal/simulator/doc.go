// Package simulator is a payment channel that can be told to fail.
//
// It speaks a small JSON protocol (api/simulator.yaml), keeps its own durable
// record of every refund that it really made, and breaks its answers by rule:
// a connection dropped before or after the money moved, an error after it, a
// result that comes later, a query that does not see it yet, and so on. What it
// recorded is the truth against which a refund service is judged: GET /effects
// lists one entry per movement of money, no matter what callers were told.
//
// # Profiles
//
// Every account has a profile, which says what the channel promises:
//
//   - keyed-queryable: a number names one refund. The same number with the same
//     parameters gives the same refund again, with other parameters an error.
//     A refund can be asked for by its number and listed by its payment.
//   - list-and-match: keys live 24 hours and give the first answer again, errors
//     included; a twin in flight is refused. Refunds are listed by payment only. A
//     low balance holds a refund; money that came back is told as failed.
//   - key-replay-only: the same number tells the refund as it stands now, for 45
//     days. Nothing can be asked.
//   - key-after-2xx: a key is known for 24 hours, but only once a 2xx was given for
//     it; before that a further send moves money once more. Refunds are listed by
//     payment.
//   - notice-only: every send is acknowledged and no more; the result comes as a
//     notice. Nothing can be asked.
//   - blind: nothing is deduplicated and nothing can be asked. Every send that
//     acts moves money once more.
//
// Beyond their key's life numbers are new ones.
//
// # Notices
//
// SetNotices gives the place to which all but blind accounts tell every result:
// signed, again and again until it is acknowledged with a 2xx, at most 40 times.
// Rules make them late, double, lost, or preceded by a forged one. What waits is
// not recorded; SetNotices tells the last ten minutes again, so a receiver sees
// repeats.
//
// # Time
//
// An accepted refund carries the moment at which its money moves, becomes visible
// and goes back, fixed when the send was recorded; every answer compares them with
// the clock. A restart therefore changes nothing, and a test moves time by moving
// the clock. Only notices are sent in the background.
//
// # Record
//
// Dir/simulator.jsonl holds one line per send. A line is on the disk (fsync)
// before the send is answered and before its effect shows anywhere. A last line
// cut short by a crash is dropped, since nobody was answered from it; any other
// damage makes New fail. Effects and counters stay in memory for the life of the
// process and grow with the number of refunds: this is a tool for tests and
// trials, not a store.
//
// The fault rules are not part of the record: after a restart those of
// Config.Faults hold.
//
// # Trust
//
// /effects and /faults ask for no secret, so the simulator belongs on a loopback
// or otherwise private address.
package simulator
