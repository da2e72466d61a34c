package arch

// Limits of size for hand-written Go, tests included. Generated files have none.
const (
	// MaxFileLines is the length of the longest file.
	MaxFileLines = 450
	// MaxFileLinesP90 is the length that nine files of ten do not exceed.
	MaxFileLinesP90 = 250
	// MaxFuncLines is the length of the longest function.
	MaxFuncLines = 80
	// MaxParams is the number of parameters of a function, without its receiver.
	MaxParams = 7
	// WideLine is the number of characters above which a line is wide; a tab counts as one.
	WideLine = 160
	// MaxWideLines is the number of wide lines of the whole module: rows of tables and SQL that read worse when they are
	// broken.
	MaxWideLines = 300
)
