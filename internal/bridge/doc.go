// Package bridge brings messages to the door: what a message says is read here,
// whatever broker or protocol it came by.
package bridge
