package arch

import (
	"maps"
	"slices"
)

// circle returns the places of one circle of imports, the first one again at the end, or nil when allowed has none. allowed
// has the places that each place may import; a place without an entry imports none.
func circle(allowed map[string][]string) []string {
	done := map[string]bool{} // no circle leads through these
	for _, start := range slices.Sorted(maps.Keys(allowed)) {
		if path := circleFrom(allowed, done, []string{start}); path != nil {
			return path
		}
	}
	return nil
}

// circleFrom extends path, whose places import one another in order.
func circleFrom(allowed map[string][]string, done map[string]bool, path []string) []string {
	last := path[len(path)-1]
	if done[last] {
		return nil
	}
	for _, next := range allowed[last] {
		if i := slices.Index(path, next); i >= 0 {
			return append(slices.Clone(path[i:]), next)
		}
		if found := circleFrom(allowed, done, append(slices.Clone(path), next)); found != nil {
			return found
		}
	}
	done[last] = true
	return nil
}
