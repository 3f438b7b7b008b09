"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const trials = data.trials || [];
  const panel = document.getElementById("panel");
  document.documentElement.classList.add("scripted");

  // el makes an element; everything that comes from a report goes in as text.
  const el = (tag, cls, ...kids) => {
    const e = document.createElement(tag);
    if (cls) e.className = cls;
    e.append(...kids.filter(k => k !== null && k !== undefined && k !== ""));
    return e;
  };
  const button = (text, cls, click) => {
    const b = el("button", cls, text);
    b.type = "button";
    b.addEventListener("click", click);
    return b;
  };

  const say = text => { document.getElementById("said").textContent = text; };
  const copy = async (pre, b) => {
    let ok = true;
    try {
      await navigator.clipboard.writeText(pre.textContent);
    } catch { // a page opened from a file may have no clipboard
      const range = document.createRange();
      range.selectNodeContents(pre);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      ok = document.execCommand("copy");
    }
    b.textContent = ok ? "Copied" : "Selected";
    say(b.textContent);
    setTimeout(() => { b.textContent = "Copy"; }, 1600);
  };
  const addCopy = box => {
    const pre = box.querySelector("pre");
    const b = button("Copy", "do-copy", () => copy(pre, b));
    b.setAttribute("aria-label", "Copy the command");
    box.classList.add("ready");
    box.append(b);
  };
  // words keeps a line from being broken inside one, as after the -- of a flag.
  const words = text => text.split(" ").flatMap((w, i) => [i ? " " : "", el("span", "", w)]);
  const code = (text, cls) => {
    const pre = el("pre", "", ...(cls === "copy" ? words(text) : [text]));
    pre.tabIndex = 0;
    return el("div", "code " + (cls || ""), pre);
  };

  const shortPoint = p => p.replace(/^(\S+) path=/, "$1 ").replace(/ nth=(\d+)$/, " #$1");
  const shownBefore = 8, shownAfter = 12;

  const step = s => {
    const li = el("li", s.fault ? "struck" : "",
      el("span", "", shortPoint(s.point)),
      s.bytes !== undefined ? el("span", "size", s.bytes.toLocaleString("en") + (s.bytes === 1 ? " byte" : " bytes")) : "",
      s.result ? el("span", "res", s.result) : "",
      s.fault ? el("span", "here", "the fault struck here") : "");
    return li;
  };

  // timeline shows what lies around the fault; the rest on demand.
  const timeline = steps => {
    const ol = el("ol", "steps");
    const at = steps.findIndex(s => s.fault);
    const last = steps.findLastIndex(s => s.fault);
    const from = at < 0 ? 0 : Math.max(0, at - shownBefore);
    const to = (at < 0 ? shownBefore : last) + shownAfter + 1;
    const more = (n, which, f, t) => n > 0
      ? [el("li", "gap", button("show " + n + " " + which, "more", () => fill(f, t)))] : [];
    const fill = (f, t) => ol.replaceChildren(
      ...more(f, "earlier", 0, t), ...steps.slice(f, t).map(step), ...more(steps.length - t, "later", f, steps.length));
    fill(from, Math.min(to, steps.length));
    return ol;
  };

  // trees puts before, control, left and after side by side, a line for each path.
  const trees = ev => {
    const columns = [["after the control", ev.control], ["after this run", ev.left], ["after the next run", ev.after]]
      .filter(([, list], i) => list || i < 2 || ev.next);
    const paths = [...new Set(columns.flatMap(([, list]) => (list || []).map(c => c.path)))].sort();
    if (!paths.length) return el("p", "empty", "The tree is as before.");
    const find = (list, path) => (list || []).find(c => c.path === path);
    // A next run may rightly go on from what the control did: only what the
    // control never touches is odd there.
    const odd = (i, c, control, before) => {
      if (i === 2) return c && !control;
      const [is, should] = [c || { after: before }, control || { after: before }];
      return i === 1 && (is.after !== should.after || (c && control && (is.head || "") !== (should.head || "")));
    };
    const row = path => {
      const before = columns.map(([, list]) => find(list, path)).find(c => c).before;
      const control = find(ev.control, path);
      const tr = el("tr", "", el("th", "", path), el("td", "", before));
      columns.forEach(([, list], i) => {
        const c = find(list, path);
        tr.append(el("td", odd(i, c, control, before) ? "off" : "", c ? c.after : "as before", c && c.head ? el("pre", "", c.head) : ""));
      });
      return tr;
    };
    const head = el("tr", "", el("th", "", "path"), el("th", "", "before"), ...columns.map(([name]) => el("th", "", name)));
    const box = el("div", "scroll", el("table", "trees", el("thead", "", head), el("tbody", "", ...paths.map(row))));
    box.tabIndex = 0;
    return el("div", "", box, el("p", "aside", "≠ unlike the control"));
  };

  const outcome = (name, o) => o ? [el("h3", "", name), el("p", "how", o.status), o.output ? code(o.output, "out") : ""] : [];
  const output = (name, s) => s ? [el("h3", "", name), code(s, "out")] : [];

  const evidence = t => {
    const ev = t.evidence;
    if (!ev) return [el("p", "empty", "No evidence was kept of this experiment; the command above makes it again.")];
    return [
      ...(ev.steps ? [el("h3", "", "Operations"), timeline(ev.steps)] : []),
      el("h3", "", "The tree"), trees(ev),
      ...output("Standard output", ev.stdout), ...output("Standard error", ev.stderr),
      ...outcome("The next run", ev.next), ...outcome("The check", ev.check),
    ];
  };

  const body = t => {
    const repro = t.repro ? code(t.repro, "copy") : "";
    if (repro) addCopy(repro);
    const title = el("h2", "", t.cause || t.detail || t.choice || t.verdict);
    title.id = "panel-title";
    title.tabIndex = -1;
    title.autofocus = true; // so that a reader begins there
    return [
      el("div", "title",
        el("div", "tile t-" + t.tier, data.glyphs[t.verdict] || "!"),
        el("div", "", el("p", "verdict", el("b", "ink-" + t.tier, t.verdict),
          t.finding ? "" : " · listed, not a finding", t.status ? " · the program: " + t.status : ""), title)),
      t.cause && t.detail ? el("p", "detail", t.detail) : "",
      el("p", "choice", el("span", "", "Choice"), el("code", "", t.choice)),
      repro, ...evidence(t),
    ];
  };

  // show opens the panel on one of several trials that share a cell.
  const show = (ids, at) => {
    const t = trials[ids[at]];
    if (!t) return;
    const turn = (text, to) => {
      const b = button(text, "", () => show(ids, to));
      b.disabled = to < 0 || to >= ids.length;
      return b;
    };
    const kin = ids.length > 1
      ? [el("span", "kin", (at + 1) + " of " + ids.length + " here"), turn("Previous", at - 1), turn("Next", at + 1)] : [];
    panel.replaceChildren(el("div", "panel", el("nav", "", ...kin, button("Close", "", () => panel.close())), ...body(t)));
    if (!panel.open) panel.showModal();
    panel.scrollTop = 0;
  };

  panel.addEventListener("click", e => { if (e.target === panel) panel.close(); });
  document.addEventListener("click", e => {
    const from = e.target.closest("[data-t]");
    if (from && getSelection().isCollapsed) show(from.dataset.t.split(" ").map(Number), 0);
  });
  document.querySelectorAll(".code.copy").forEach(addCopy);

  // In a map one cell is a tab stop, and arrows move from it.
  const walk = table => {
    const lines = [...table.tBodies[0].rows];
    const first = [...table.querySelectorAll("td[data-t]")].find(td => td.offsetParent);
    let here = first;
    if (first) first.tabIndex = 0;
    const go = cell => {
      here.tabIndex = -1;
      here = cell;
      here.tabIndex = 0;
      here.focus();
    };
    const look = (x, y, dx, dy) => {
      for (x += dx, y += dy; lines[y] && x > 0 && x < lines[y].cells.length; x += dx, y += dy) {
        const cell = lines[y].cells[x];
        if (cell.dataset.t && cell.offsetParent) return cell;
      }
      return null;
    };
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    table.addEventListener("keydown", e => {
      const td = e.target.closest("td[data-t]");
      if (!td) return;
      if (e.key === "Enter" || e.key === " ") {
        e.preventDefault();
        td.click();
      } else if (moves[e.key]) {
        e.preventDefault();
        const next = look(td.cellIndex, lines.indexOf(td.parentNode), ...moves[e.key]);
        if (next) go(next);
      }
    });
  };

  document.querySelectorAll(".map").forEach(map => {
    const table = map.querySelector(".heat");
    const quiet = map.querySelector(".quiet");
    const hide = () => table.classList.toggle("findings", quiet.checked);
    if (quiet) {
      quiet.addEventListener("change", hide);
      hide();
    }
    walk(table);
    const keys = [...map.querySelectorAll(".key")];
    keys.forEach(k => k.addEventListener("click", () => {
      const on = k.getAttribute("aria-pressed") !== "true";
      keys.forEach(o => o.setAttribute("aria-pressed", String(o === k && on)));
      table.classList.toggle("picking", on);
      table.querySelectorAll("td[data-t]").forEach(td => {
        const [tier, ...name] = k.dataset.key.split(" ");
        td.classList.toggle("picked", on && td.classList.contains("t-" + tier) && td.title.split(",")[0] === name.join(" "));
      });
    }));
  });
})();
