package arch

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	packagesPage   = "CONTRIBUTING.md"
	migrationsRoom = "migrations"
	goSteps        = "internal/store/migrate/river.go" // the migrations that are written in Go
)

var (
	tableRow  = regexp.MustCompile(`(?m)^\| (` + "`[^|]*`" + `) \| .* \|$`)
	inTicks   = regexp.MustCompile("`([^`]+)`")
	subFolder = regexp.MustCompile("`([a-z0-9/]+)/`")
	sqlNumber = regexp.MustCompile(`^(\d{4})_\w+\.sql$`)
	goNumber  = regexp.MustCompile(`\bstep: (\d+)\b`)
)

// Rooms returns the folders with Go files below internal/ that the table of packages in CONTRIBUTING.md does not name, and the
// migrations whose numbers are not 1, 2, 3 and so on without a gap. The error is one of reading.
func Rooms(root fs.FS) ([]Violation, error) {
	page, err := fs.ReadFile(root, packagesPage)
	if err != nil {
		return nil, err
	}
	named := tableOfPackages(string(page))
	folders, err := foldersOfGo(root)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, dir := range folders {
		if !slices.Contains(named, dir) && !slices.Contains(named, path.Dir(dir)+"/NAME") {
			found = append(found, Violation{Rule: "room", File: dir, Text: "the table of packages in " + packagesPage + " does not name it"})
		}
	}
	steps, err := migrationSteps(root)
	if err != nil {
		return nil, err
	}
	return append(found, checkSteps(steps)...), nil
}

// tableOfPackages returns the folders of the table. A row names a folder from internal/ on, or from its parent or its sibling of the same
// row on. Its text names folders below the folder of the row; in a row of several, from their parent on. A text that tells of "a folder
// for each" kind names all of them, as NAME.
func tableOfPackages(page string) []string {
	var named []string
	for _, row := range tableRow.FindAllStringSubmatch(page, -1) {
		at := ""
		for _, m := range inTicks.FindAllStringSubmatch(row[1], -1) {
			dir := strings.TrimSuffix(m[1], "/")
			if at != "" && !strings.HasPrefix(dir, "internal/") {
				dir = path.Join(path.Dir(at), dir)
			}
			at = dir
			named = append(named, dir)
		}
		text := strings.TrimPrefix(row[0], "| "+row[1])
		base := at
		if strings.Count(row[1], "`") > 2 {
			base = path.Dir(at)
		}
		for _, m := range subFolder.FindAllStringSubmatch(text, -1) {
			named = append(named, path.Join(base, m[1]))
		}
		if strings.Contains(text, "for each") {
			named = append(named, at+"/NAME")
		}
	}
	return named
}

// foldersOfGo returns the folders below internal/ that have Go files of their own.
func foldersOfGo(root fs.FS) ([]string, error) {
	var dirs []string
	err := fs.WalkDir(root, "internal", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipDir(root, name):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".go") && !slices.Contains(dirs, path.Dir(name)):
			dirs = append(dirs, path.Dir(name))
		}
		return nil
	})
	return dirs, err
}

// step is one migration.
type step struct {
	number int
	file   string
}

// migrationSteps returns the SQL files and the steps in Go.
func migrationSteps(root fs.FS) ([]step, error) {
	files, err := fs.Glob(root, migrationsRoom+"/*.sql")
	if err != nil {
		return nil, err
	}
	var steps []step
	for _, f := range files {
		n := 0 // a name without a number counts as 0
		if m := sqlNumber.FindStringSubmatch(path.Base(f)); m != nil {
			n, _ = strconv.Atoi(m[1])
		}
		steps = append(steps, step{n, f})
	}
	src, err := fs.ReadFile(root, goSteps)
	for _, m := range goNumber.FindAllStringSubmatch(string(src), -1) {
		n, _ := strconv.Atoi(m[1])
		steps = append(steps, step{n, goSteps})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.number - b.number })
	return steps, err
}

func checkSteps(steps []step) []Violation {
	var found []Violation
	last := step{}
	for _, s := range steps {
		text := ""
		switch {
		case s.number == last.number && last.file != "":
			text = fmt.Sprintf("%04d is the number of %s, too: take the next free one", s.number, last.file)
		case s.number != last.number+1:
			text = fmt.Sprintf("%04d follows %04d: the numbers have no gap, and the name is NNNN_name.sql", s.number, last.number)
		}
		if text != "" {
			found = append(found, Violation{Rule: "migration", File: s.file, Text: text})
		}
		last = s
	}
	return found
}
