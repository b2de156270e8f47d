package libtorch

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// archive is an open wheel: a zip with a RECORD that holds the SHA-256 of each of its files.
type archive struct {
	name   string
	zip    *zip.ReadCloser
	files  map[string]*zip.File
	record map[string]string // file → sha256, base64 without padding
	info   string            // the .dist-info folder
}

func openWheel(file string) (*archive, error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: not a readable wheel: %v", file, err)
	}
	a := &archive{name: filepath.Base(file), zip: z, files: map[string]*zip.File{}, record: map[string]string{}}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			z.Close()
			return nil, fmt.Errorf("%s: entry %q leads out of the wheel", file, f.Name)
		}
		a.files[f.Name] = f
		if dir, base := path.Split(f.Name); base == "RECORD" && strings.HasSuffix(dir, ".dist-info/") {
			a.info = strings.TrimSuffix(dir, "/")
		}
	}
	if err := a.readRecord(); err != nil {
		z.Close()
		return nil, fmt.Errorf("%s: %v", file, err)
	}
	return a, nil
}

func (a *archive) Close() error { return a.zip.Close() }

func (a *archive) readRecord() error {
	if a.info == "" {
		return fmt.Errorf("no .dist-info/RECORD with the checksums")
	}
	text, err := a.read(a.info + "/RECORD")
	if err != nil {
		return err
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		return fmt.Errorf("RECORD: %v", err)
	}
	for _, row := range rows {
		if len(row) == 3 && strings.HasPrefix(row[1], "sha256=") {
			a.record[row[0]] = strings.TrimRight(strings.TrimPrefix(row[1], "sha256="), "=")
		}
	}
	return nil
}

func (a *archive) read(name string) ([]byte, error) {
	f, ok := a.files[name]
	if !ok {
		return nil, fmt.Errorf("%s: no file %s", a.name, name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// names lists the files that match want, sorted.
func (a *archive) names(want func(name string) bool) []string {
	var out []string
	for name := range a.files {
		if want(name) {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

// licences and the METADATA of a wheel are unpacked with whatever else is.
func (a *archive) papers(name string) bool {
	if path.Dir(name) != a.info && !strings.HasPrefix(name, a.info+"/licenses/") {
		return false
	}
	base := strings.ToUpper(path.Base(name))
	return base == "METADATA" || strings.HasPrefix(base, "LICEN") || strings.HasPrefix(base, "NOTICE") ||
		strings.HasPrefix(name, a.info+"/licenses/")
}

// unpack writes the files below dir and compares each with the RECORD.
func (a *archive) unpack(ctx context.Context, dir string, names []string) error {
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.unpackFile(name, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) unpackFile(name, target string) error {
	f, ok := a.files[name]
	if !ok {
		return fmt.Errorf("%s: no file %s", a.name, name)
	}
	want, ok := a.record[name]
	if !ok {
		return fmt.Errorf("%s: %s has no checksum in RECORD", a.name, name)
	}
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %s: %v", a.name, name, err)
	}
	defer r.Close()
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), r)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %v", a.name, name, err)
	}
	if got := base64.RawURLEncoding.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("%s: %s has sha256 %s, RECORD says %s", a.name, name, got, want)
	}
	return nil
}

// sha256File is the hex digest of a file.
func sha256File(ctx context.Context, name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(buf)
		sum.Write(buf[:n])
		if err == io.EOF {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// toolkitProjects are the projects behind the extras of cuda-toolkit whose names differ from nvidia-<extra>.
var toolkitProjects = map[string]string{
	"cudart": "nvidia-cuda-runtime", "cupti": "nvidia-cuda-cupti", "nvrtc": "nvidia-cuda-nvrtc",
}

var requirement = regexp.MustCompile(`^Requires-Dist: ([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?`)

// missingPins reads the METADATA of the torch wheel and names the nvidia projects it requires that r has no pin for.
func missingPins(metadata []byte, r release) []string {
	known := map[string]bool{}
	for _, w := range append(append([]wheel{}, r.base...), r.cuda...) {
		known[w.Project] = true
	}
	var missing []string
	need := func(project string) {
		if !known[project] {
			known[project] = true
			missing = append(missing, project)
		}
	}
	lines := bufio.NewScanner(strings.NewReader(string(metadata)))
	for lines.Scan() {
		if lines.Text() == "" {
			break // the description follows
		}
		m := requirement.FindStringSubmatch(lines.Text())
		switch {
		case m == nil:
		case strings.HasPrefix(m[1], "nvidia-"):
			need(m[1])
		case m[1] == "cuda-toolkit":
			for _, extra := range strings.Split(m[2], ",") {
				project, ok := toolkitProjects[extra]
				if !ok {
					project = "nvidia-" + extra
				}
				need(project)
			}
		}
	}
	return missing
}
