package arch

import (
	"path"
	"slices"
	"strings"
)

// The rooms of the layout. A folder of internal/ that is in no list is an adapter, the kind of room with the fewest
// imports.
var (
	// leaves can be imported by every room. They import the domain at most.
	leaves = []string{"api", "migrations", "internal/telemetry", "internal/fault", "internal/config", "internal/access", clock}

	// families have one folder per implementation. The implementations do not import one another; their parent and the
	// packages of commonGround can be imported by all.
	families     = []string{"internal/channel", "internal/bridge"}
	commonGround = []string{"registry", "channeltest", "bridgetest"}

	// namers are the files of cmd/server that can import an implementation: the lists of kinds, and what runs or measures one
	// of them on purpose. All other files find a kind by its name.
	namers = []string{wiring + "/kinds.go", wiring + "/dev*", wiring + "/bench*"}
)

// subRooms has what the packages of one room can import of it, besides what the whole room can import. The room's own
// folder stands for itself. The lists must not contain a circle.
var subRooms = map[string][]string{
	domain:                   {},
	domain + "/intake":       {domain},
	domain + "/audit":        {domain},
	domain + "/event":        {domain},
	domain + "/wire":         {domain, domain + "/intake", "api/strictjson"},
	"internal/store":         {"internal/store/pg"},
	"internal/store/pg":      {},
	"internal/store/migrate": {"internal/store/pg"},
	"internal/store/read":    {"internal/store/pg"},
	"internal/store/verify":  {"internal/store/pg"},
}

// domainTests are what the domain's tests can import of ours besides the domain.
var domainTests = []string{"internal/refundtest", "internal/access"}

const (
	domain    = "internal/refund"
	clock     = "internal/clock"
	devdb     = "internal/devdb"
	devnats   = "internal/devnats"
	simulator = "internal/simulator"
	generated = "internal/http/oapi"
	wiring    = "cmd/server"
)

// migrator is the part of store that migrates the schema.
var migrator = []string{"internal/store/migrate*"}

// technology has the rooms that can import a third-party module or a package of the standard library; the longest matching
// prefix counts. A room that ends with * stands for the files whose path begins with it. Tests can import all of it.
var technology = []struct {
	prefix string
	rooms  []string
	why    string
}{
	{"github.com/jackc/pgx", []string{"internal/store", "internal/jobs", devdb, wiring}, "SQL belongs to store"},
	{"github.com/jackc/pgx/v5/stdlib", migrator, "database/sql repeats statements by itself; only the migrator needs it"},
	{"database/sql", migrator, "database/sql repeats statements by itself; only the migrator needs it"},
	{"github.com/pressly/goose", migrator, "migrations belong to the migrator"},
	{"github.com/riverqueue", []string{"internal/jobs", "internal/store/migrate*"}, "River belongs to jobs, and its tables to the migrator"},
	{"github.com/go-chi", []string{"internal/http"}, "the router belongs to http"},
	{"github.com/oapi-codegen", []string{"internal/http"}, "the generated server belongs to http"},
	{"github.com/getkin/kin-openapi", []string{"internal/http"}, "the contract belongs to http"},
	{"github.com/swaggest", []string{"internal/http"}, "the API reference belongs to http"},
	{"github.com/nats-io/nats-server", []string{devnats}, "the embedded broker is for dev"},
	{"github.com/nats-io", []string{"internal/bridge/nats", wiring}, "the client of a broker belongs to its bridge"},
	{"go.yaml.in/yaml", []string{"internal/config", "internal/channel", "internal/bridge"}, "settings are decoded by config and by their kind"},
	{"github.com/spf13", []string{wiring}, "commands belong to cmd/server"},
	{"go.uber.org/goleak", nil, "for tests"},
	{"pgregory.net/rapid", nil, "for tests"},
	{"testing", nil, "for tests"},
}

// forbidden returns why a file cannot import a path; "" = it can.
func forbidden(file, imported string, test bool) string {
	dir := path.Dir(file)
	own, isOurs := strings.CutPrefix(imported, Module+"/")
	switch {
	case isOurs:
		return forbiddenRoom(file, own, test)
	case in(dir, clock) && !isStandard(imported):
		return "clock imports the standard library only"
	case in(dir, domain) && !isStandard(imported):
		if test && (within(imported, "pgregory.net/rapid") || within(imported, "go.uber.org/goleak")) {
			return ""
		}
		return "the domain imports the standard library only"
	case test:
		return ""
	}
	return forbiddenTechnology(file, imported)
}

func forbiddenTechnology(file, imported string) string {
	best := -1
	for i, t := range technology {
		if within(imported, t.prefix) && (best < 0 || len(t.prefix) > len(technology[best].prefix)) {
			best = i
		}
	}
	if best < 0 || in(file, technology[best].rooms...) {
		return ""
	}
	return technology[best].why
}

// forbiddenRoom is forbidden for one of our own packages.
func forbiddenRoom(file, own string, test bool) string {
	dir := path.Dir(file)
	if in(dir, domain) {
		if slices.Contains(subRooms[dir], own) || test && (in(own, domain) || in(own, domainTests...)) {
			return ""
		}
		return "the domain imports nothing of ours but what its list of sub-rooms has"
	}
	if test {
		return ""
	}
	if in(dir, "cmd") {
		if isImplementation(own) && !in(file, namers...) {
			return "a channel or broker is in the list in " + namers[0] + " and found by its name"
		}
		return ""
	}
	room, target := roomOf(dir), roomOf(own)
	switch {
	case isTestCode(own + "/x.go"):
		return "it is for tests"
	case own == generated:
		if room == "internal/http" {
			return ""
		}
		return "the generated server belongs to http"
	case room == target:
		return forbiddenSubRoom(dir, own)
	case target == wiring || in(own, "cmd"):
		return "commands are not imported"
	case target == devdb, target == devnats:
		return "the embedded PostgreSQL and broker are for cmd/server and tests"
	case room == simulator:
		if own == "internal/fault" {
			return ""
		}
		return "the simulator is independent and imports nothing of ours but fault"
	case target == clock && (room == devdb || room == devnats):
		return ""
	case room == clock, room == "internal/fault", room == devdb, room == devnats:
		return "a leaf imports nothing of ours"
	case target == domain:
		return ""
	case slices.Contains(leaves, room):
		return "a leaf imports nothing of ours but the domain"
	case slices.Contains(leaves, target):
		return ""
	}
	return "adapters do not import each other: declare a small interface here and connect the two in " + wiring
}

// forbiddenSubRoom is forbidden for two packages of one room, by the list of the room, or by its family if it has none.
func forbiddenSubRoom(dir, own string) string {
	if allowed, listed := subRooms[dir]; listed && dir != own && !slices.Contains(allowed, own) {
		return "not on the list of what this sub-room may import"
	}
	return forbiddenSibling(dir, own)
}

// forbiddenSibling forbids imports between the implementations of one family.
func forbiddenSibling(dir, own string) string {
	for _, family := range families {
		from, okFrom := strings.CutPrefix(dir, family+"/")
		to, okTo := strings.CutPrefix(own, family+"/")
		if !okFrom || !okTo {
			continue
		}
		from, _, _ = strings.Cut(from, "/")
		to, _, _ = strings.Cut(to, "/")
		if from != to && !slices.Contains(commonGround, from) && !slices.Contains(commonGround, to) {
			return "implementations of one family do not import each other"
		}
	}
	return ""
}

// isImplementation reports whether a package is one implementation of a family.
func isImplementation(own string) bool {
	return slices.ContainsFunc(families, func(family string) bool {
		name, below := strings.CutPrefix(own, family+"/")
		name, _, _ = strings.Cut(name, "/")
		return below && !slices.Contains(commonGround, name)
	})
}

// roomOf returns the room of a folder: internal/x, cmd/x, or the first part of the path.
func roomOf(dir string) string {
	parts := strings.Split(dir, "/")
	if len(parts) >= 2 && (parts[0] == "internal" || parts[0] == "cmd") {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// in reports whether the folder or file is one of the rooms or below one.
func in(place string, rooms ...string) bool {
	return slices.ContainsFunc(rooms, func(room string) bool {
		if start, ok := strings.CutSuffix(room, "*"); ok {
			return strings.HasPrefix(place, start)
		}
		return within(place, room)
	})
}

// within compares whole parts of paths: a/bc is not within a/b.
func within(p, prefix string) bool {
	return p == prefix || strings.HasPrefix(p, prefix+"/")
}

// isStandard reports whether a path belongs to the standard library: the first part of any other path has a dot.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}
