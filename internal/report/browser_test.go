package report

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// chromium finds a browser, or skips; where all is required it must be there.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("FAULTLAB_REQUIRE") == "1" {
		t.Fatal("no browser: install chromium")
	}
	t.Skip("no browser: install chromium")
	return ""
}

// probe runs in the page: it counts errors, opens a trial, walks the map, and
// tells the frame around it what came of it.
const probe = `<script>
addEventListener("load", () => {
  const wide = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const said = {errors: window.errors, wide: wide(), page: document.documentElement.clientWidth};
  const cell = document.querySelector('.heat td[tabindex="0"]');
  if (cell) {
    cell.focus();
    cell.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
    said.moved = document.activeElement !== cell && document.activeElement.matches("td[data-t]");
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
  }
  const panel = document.querySelector("dialog");
  said.open = panel.open && panel.querySelector("h2").textContent !== "";
  if (panel.open) panel.close();
  for (const b of document.querySelectorAll("button[data-t]")) { b.click(); said.wide = Math.max(said.wide, panel.scrollWidth - panel.clientWidth); panel.close(); }
  for (const d of document.querySelectorAll("details")) d.open = true;
  for (const q of document.querySelectorAll(".quiet")) q.click();
  said.wide = Math.max(said.wide, wide());
  said.errors = window.errors;
  parent.postMessage(JSON.stringify(said), "*");
});
</script></body>`

const catcher = `<head><script>window.errors = []; addEventListener("error", e => errors.push(e.message)); addEventListener("securitypolicyviolation", e => errors.push(e.violatedDirective));</script>`

// frame shows pages as wide as a phone, and writes down what they say.
const frame = `<!doctype html><body>
<script>
const here = document.body;
addEventListener("message", e => {
  const name = [...document.querySelectorAll("iframe")].find(f => f.contentWindow === e.source).name;
  here.append("SAID " + name + " " + e.data + " END");
});
</script>`

const framed = `<iframe name="%[1]s" src="%[1]s.html" style="width:360px;height:800px;border:0"></iframe>`

// The pages have no errors, do not scroll sideways on a phone, and can be walked
// with a keyboard.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	dir, frames := t.TempDir(), frame
	want := make(map[string]string)
	for name, r := range map[string]*Report{"large": large(), "audit": audit(), "interrupted": interrupted()} {
		page := strings.Replace(htmlOf(t, r), "</body>", probe, 1)
		want[name] = `{"errors":[],"wide":0,"page":360,"open":false}`
		if strings.Contains(page, `class="heat"`) {
			want[name] = `{"errors":[],"wide":0,"page":360,"moved":true,"open":true}`
		}
		write(t, filepath.Join(dir, name+".html"), strings.Replace(page, "<head>", catcher, 1))
		frames += fmt.Sprintf(framed, name)
	}
	write(t, filepath.Join(dir, "frame.html"), frames)
	dom, log := browse(t, browser, dir)
	for _, said := range regexp.MustCompile(`SAID (\w+) (\{.*?\}) END`).FindAllStringSubmatch(dom, -1) {
		if want[said[1]] != said[2] {
			t.Errorf("%s: the page said %s, want %s", said[1], said[2], want[said[1]])
		}
		delete(want, said[1])
	}
	if len(want) > 0 {
		t.Errorf("said nothing: %v\n%s", want, log)
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "CONSOLE") {
			t.Error(line)
		}
	}
}

func browse(t *testing.T, browser, dir string) (dom, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	// A run as root has no sandbox; the page is our own.
	c := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--allow-file-access-from-files", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom", "file://"+filepath.Join(dir, "frame.html"))
	c.Env = append(os.Environ(), "HOME="+dir)
	c.Stdout, c.Stderr = &out, &errs
	c.WaitDelay = 5 * time.Second // its children hold the pipes
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	return out.String(), errs.String()
}

func write(t *testing.T, path, s string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
}
