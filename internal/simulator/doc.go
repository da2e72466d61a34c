// Package simulator is a payment channel that can be made to fail.
//
// It serves a small JSON protocol (api/simulator.yaml), keeps a durable record of every refund that it made, and breaks its
// answers by rule: it drops a connection before or after the money moved, answers an error after it, delays the result, hides a
// refund from queries, and so on. A refund service is compared with this record: GET /effects lists one entry per movement of
// money, whatever the callers were answered.
//
// # Profiles
//
// The profile of an account is what the channel promises for it:
//
//   - keyed-queryable: a number names one refund. The same number with the same parameters returns the same refund, with other
//     parameters an error. A refund can be queried by its number and listed by its payment.
//   - list-and-match: a key is kept for 24 hours and repeats its first answer, errors included; a concurrent send of the number
//     is refused. Refunds are listed by payment only. A low balance holds a refund; money that came back is reported as failed.
//   - key-replay-only: the same number returns the current state of the refund, for 45 days. There are no queries.
//   - key-after-2xx: a key is kept for 24 hours, but only after a 2xx answer; before that, another send moves money again.
//     Refunds are listed by payment.
//   - notice-only: every send is only acknowledged; the result comes as a notice. There are no queries.
//   - blind: nothing is deduplicated and there are no queries. Every send that acts moves money.
//
// A number whose key has expired counts as new.
//
// # Notices
//
// SetNotices sets the URL to which all accounts but the blind ones post every result: signed, and repeated until a 2xx, at most
// 40 times. Rules delay, repeat or drop notices, or send a forged one first. Waiting notices are not recorded; SetNotices sends
// those of the last ten minutes again, so a receiver gets repeats.
//
// # Time
//
// The times at which the money of a refund moves, becomes visible and comes back are fixed when its send is recorded, and every
// answer compares them with the clock. A restart therefore changes nothing, and a test moves the time by moving the clock. Only
// notices are sent in the background.
//
// # Record
//
// Dir/simulator.jsonl has one line per send. A line is on disk (fsync) before the send is answered and before its effect is
// visible. A last line that a crash cut short is dropped, since it was not answered; any other damage makes New fail. Effects
// and counters stay in memory and grow with the number of refunds: the simulator is a tool for tests and trials, not a store.
//
// The fault rules are not recorded: after a restart those of Config.Faults apply.
//
// # Security
//
// /effects and /faults require no secret, so the simulator belongs on a loopback or otherwise private address.
package simulator
