package libtorch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// Version is a release of libtorch; a suffix such as +cu130 or .dev2026 is not kept.
type Version struct{ Major, Minor, Patch int }

// What gotch 0.9.1 and the compatibility header were tried with: 2.1.2, 2.6.0 and 2.11.0. Before 2.1 functions
// that gotch calls are missing, and later releases want C++20.
var (
	oldest = Version{2, 1, 2}
	beyond = Version{2, 12, 0}
)

// Range names the releases that are known to work, for messages.
const Range = "2.1.2 to 2.11"

// Default is the release that set-up downloads.
var Default = Version{2, 11, 0}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Less orders versions.
func (v Version) Less(w Version) bool {
	if v.Major != w.Major {
		return v.Major < w.Major
	}
	if v.Minor != w.Minor {
		return v.Minor < w.Minor
	}
	return v.Patch < w.Patch
}

// Supported reports whether v lies in the Range.
func (v Version) Supported() bool { return !v.Less(oldest) && v.Less(beyond) }

var leadingVersion = regexp.MustCompile(`^v?(\d+)\.(\d+)(?:\.(\d+))?`)

// ParseVersion reads "2.11.0", "2.11.0+cu130" or "2.11".
func ParseVersion(s string) (Version, error) {
	m := leadingVersion.FindStringSubmatch(s)
	if m == nil {
		return Version{}, fmt.Errorf("libtorch version %q: expected a number such as %s", s, Default)
	}
	var v Version
	for i, p := range []*int{&v.Major, &v.Minor, &v.Patch} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return Version{}, fmt.Errorf("libtorch version %q: %v", s, err)
		}
		*p = n
	}
	return v, nil
}

var (
	pythonVersion = regexp.MustCompile(`(?m)^__version__ = ['"]([^'"]+)['"]`)
	headerVersion = regexp.MustCompile(`(?m)^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) (\d+)`)
)

// readVersion reads the version of the libtorch in dir from what its distribution has: the headers (since 2.2), the
// wheel's version.py, or the archive's build-version.
func readVersion(dir string) (Version, error) {
	for _, name := range []string{"include/torch/headeronly/version.h", "include/torch/csrc/api/include/torch/version.h"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		parts := map[string]string{}
		for _, m := range headerVersion.FindAllStringSubmatch(string(text), -1) {
			parts[m[1]] = m[2]
		}
		if len(parts) == 3 {
			return ParseVersion(parts["MAJOR"] + "." + parts["MINOR"] + "." + parts["PATCH"])
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "version.py")); err == nil {
		if m := pythonVersion.FindStringSubmatch(string(text)); m != nil {
			return ParseVersion(m[1])
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "build-version")); err == nil {
		return ParseVersion(string(text))
	}
	return Version{}, fmt.Errorf("%s: no version found in include/torch/…/version.h, version.py or build-version", dir)
}
