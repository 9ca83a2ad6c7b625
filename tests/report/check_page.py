#!/usr/bin/env python3
"""check_page.py WAYMARK FIXTURE [--keep DIR]: the report page in headless Chromium, on a phone and on a
desk, light, dark and printed. FIXTURE (page_fixture.c) makes the run folders. Without Chromium or gnuplot it
exits with 77, which CTest counts as skipped. --keep leaves pages and pictures in DIR, to be looked at."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import browser

WAYMARK, FIXTURE = sys.argv[1], sys.argv[2]
KEEP = sys.argv[4] if len(sys.argv) == 5 and sys.argv[3] == "--keep" else None
PHONE, DESK = (390, 844, True), (1280, 900, False)

# Every text that is seen, with its colour and what is behind it, blended from the page upward. Text on
# the cells of a heat map is left out: the cells are data, and their text is dark or light to suit.
CONTRAST = r"""(() => {
  const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= 0.04045 ? v / 12.92
    : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { const stack = []; for (; e; e = e.parentElement)
    stack.push(parse(getComputedStyle(e).backgroundColor));
    return stack.reverse().reduce((below, c) => over(c, below), [255, 255, 255, 1]); };
  const out = []; let n = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, text = walk.currentNode.data.trim();
    if (!text || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), svg = e.closest('svg');
    const colour = parse(svg ? style.fill : style.color);
    if (svg && ['rgb(17, 17, 17)', 'rgb(253, 253, 253)'].includes(style.fill)) continue;
    const back = behind(svg || e), fore = over(colour, back);
    const [a, b] = [light(fore), light(back)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    n++;
    if (ratio < 4.5) out.push([text.slice(0, 40), style.fill, style.color, back, ratio]);
  }
  return {n, out};
})()"""

# What a reader who does not see, or has no mouse, depends on.
STRUCTURE = r"""(() => {
  const wrong = [], all = q => [...document.querySelectorAll(q)];
  const ids = all('[id]').map(e => e.id);
  if (new Set(ids).size !== ids.length) wrong.push('ids twice: ' + ids.filter((v, i) => ids.indexOf(v) < i));
  let level = 0;
  for (const h of all('h1,h2,h3,h4,h5,h6')) {
    const now = Number(h.tagName[1]);
    if (now > level + 1) wrong.push('heading jumps: ' + h.textContent);
    if (!h.textContent.trim()) wrong.push('empty heading');
    level = now;
  }
  if (all('h1').length !== 1) wrong.push('not one h1');
  for (const t of all('table')) {
    if (!t.caption || !t.caption.textContent.trim()) wrong.push('table without a caption');
    for (const h of t.querySelectorAll('th')) if (!h.scope) wrong.push('th without scope');
    if (!t.querySelector('th[scope=col]')) wrong.push('table without column headers');
  }
  for (const s of all('svg'))
    if (!(s.getAttribute('aria-hidden') === 'true' || (s.getAttribute('role') === 'img' &&
          s.getAttribute('aria-label')))) wrong.push('svg without a name');
  for (const i of all('img')) if (!i.alt) wrong.push('img without alt');
  for (const u of all('use')) {
    const id = u.getAttribute('href').slice(1);
    if (!document.getElementById(id)) wrong.push('use of nothing: ' + id);
  }
  for (const a of all('a')) if (!document.querySelector(a.getAttribute('href'))) wrong.push('dead link');
  for (const f of all('figure')) if (!f.querySelector('table')) wrong.push('figure without a table');
  for (const f of all('figure')) if (!f.querySelector('h3')) wrong.push('figure without a title');
  if (all('script').length || all('link').length || all('iframe').length) wrong.push('script or link');
  for (const e of all('*')) for (const a of e.attributes)
    if (/^on/i.test(a.name)) wrong.push('event attribute ' + a.name);
  if (document.documentElement.lang !== 'en') wrong.push('no language');
  if (!document.title) wrong.push('no title');
  return wrong;
})()"""

# Boxes that stick out of the page: tables may, inside the region that scrolls them.
OVERFLOW = r"""(() => {
  const width = document.documentElement.clientWidth, out = [];
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('.scroll') && !e.matches('.scroll')) continue;
    if (e.closest('svg') && !e.matches('svg')) continue;
    const r = e.getBoundingClientRect();
    if (r.width && (r.right > width + 0.5 || r.left < -0.5)) out.push(e.tagName + '.' + e.className);
  }
  return {scroll: document.documentElement.scrollWidth, width, out};
})()"""

# The height of letters in drawings, in pixels of the screen.
LETTERS = r"""[...document.querySelectorAll('svg.drawing')].filter(s => s.querySelector('text')).map(s =>
  Math.min(...[...s.querySelectorAll('g[font-size], :scope > text')].filter(t => t.textContent.trim()
    && !t.querySelector('g') && parseFloat(getComputedStyle(t).fontSize) >= 12).map(t =>
    parseFloat(getComputedStyle(t).fontSize) * s.getBoundingClientRect().width / s.viewBox.baseVal.width)))"""

IMAGES = r"""[...document.querySelectorAll('figure')].map(f => {
  const i = f.querySelector('img'), r = i.getBoundingClientRect();
  return {title: f.querySelector('h3').innerText, complete: i.complete, w: i.naturalWidth,
    h: i.naturalHeight, width: r.width, height: r.height, rendering: getComputedStyle(i).imageRendering};
})"""


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.pages = {}
        for kind in ("images", "trust", "doubt", "reject", "hostile"):
            run = os.path.join(cls.folder.name, kind)
            subprocess.run([FIXTURE, run, kind], check=True)
            done = subprocess.run([WAYMARK, "report", run, "--json"], check=True, capture_output=True,
                                  text=True)
            made = json.loads(done.stdout)
            assert made["page"] == os.path.join(run, "report.html")
            assert made["bytes"] == os.path.getsize(made["page"])
            cls.pages[kind] = made["page"]
            cls.figures = made["figures"]
        cls.browser = browser.Browser(browser.find())
        cls.addClassCleanup(cls.browser.__exit__)

    def show(self, kind, screen, theme="light", media=""):
        self.browser.show(self.pages[kind], screen[0], screen[1], theme, media, screen[2])

    def keep(self, name):
        if KEEP:
            os.makedirs(KEEP, exist_ok=True)
            self.browser.picture(os.path.join(KEEP, name + ".png"))

    def each(self, kinds, screens=((PHONE, "phone"), (DESK, "desk")), themes=("light", "dark")):
        for kind in kinds:
            for screen, width in screens:
                for theme in themes:
                    self.show(kind, screen, theme)
                    yield f"{kind}-{width}-{theme}"

    def test_nothing_is_fetched_and_nothing_complains(self):
        for name in self.each(("doubt", "hostile", "images")):
            urls = [e["params"]["request"]["url"] for e in self.browser.events
                    if e["method"] == "Network.requestWillBeSent"]
            outside = [u for u in urls[1:] if not u.startswith("data:image/png;base64,")]
            self.assertEqual((len(urls) > 0, outside), (True, []), name)
            words = [e for e in self.browser.events if e["method"] in
                     ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]
            self.assertEqual(words, [], name)
            self.keep(name)

    def test_the_page_fits(self):
        for name in self.each(("doubt", "hostile", "images"), themes=("light",)):
            for opened in (False, True):
                self.browser.run(f"document.querySelectorAll('details').forEach(d => d.open = "
                                 f"{str(opened).lower()})")
                got = self.browser.run(OVERFLOW)
                self.assertEqual(got["out"], [], name)
                self.assertLessEqual(got["scroll"], got["width"], name)
        self.show("doubt", (320, 700, True))
        self.assertEqual(self.browser.run(OVERFLOW)["out"], [])

    def test_drawings_can_be_read_on_a_phone(self):
        self.show("doubt", PHONE)
        letters = self.browser.run(LETTERS)
        self.assertEqual(len(letters), self.figures + 3)  # the first panel of each, and the curves
        self.assertGreater(min(letters), 7.8)
        self.assertLess(max(letters), 16)

    def test_text_stands_out_from_its_ground(self):
        for name in self.each(("trust", "doubt", "reject"), screens=((DESK, "desk"),)):
            self.browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
            got = self.browser.run(CONTRAST)
            self.assertGreater(got["n"], 500)
            self.assertEqual(got["out"], [], name)

    def test_the_theme_is_the_readers(self):
        grounds = {}
        for theme in ("light", "dark"):
            self.show("doubt", DESK, theme)
            grounds[theme] = self.browser.run("getComputedStyle(document.body).backgroundColor")
            ink = self.browser.run("getComputedStyle([...document.querySelectorAll('.panels text')]"
                                   ".find(t => t.textContent.trim() === 'waymark')).fill")
            self.assertEqual(ink, {"light": "rgb(28, 33, 39)", "dark": "rgb(231, 234, 238)"}[theme])
        self.assertEqual(grounds, {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"})

    def test_who_does_not_see_it_can_read_it(self):
        for kind in self.pages:
            self.show(kind, DESK)
            self.assertEqual(self.browser.run(STRUCTURE), [], kind)

    def test_panels_are_side_by_side_or_below_each_other(self):
        place = ("[...document.querySelectorAll('figure:first-of-type .panels svg')].map(s => "
                 "{const r = s.getBoundingClientRect(); return [r.left, r.top, r.width]})")
        self.show("doubt", DESK)
        (x1, y1, w1), (x2, y2, _) = self.browser.run(place)
        self.assertTrue(x2 >= x1 + w1 and abs(y1 - y2) < 1)
        self.show("doubt", PHONE)
        (x1, y1, w1), (x2, y2, _) = self.browser.run(place)
        self.assertTrue(x1 == x2 and y2 > y1 and w1 > 330)

    def test_columns_that_differ_are_seen(self):
        """Sorted by share; each with a picture as wide as its cell; on a phone in blocks, not cut off."""
        names = "[...document.querySelectorAll('.differ tbody th')].map(t => t.innerText)"
        places = ("[...document.querySelectorAll('.differ tbody tr')].map(r => [...r.children].map(c => "
                  "{const b = c.getBoundingClientRect(); return [b.left, b.top, b.right]}))")
        for width in (360, 1280):
            self.show("doubt", (width, 900, width == 360), "dark")
            self.assertEqual([n.split(" ")[0] for n in self.browser.run(names)],
                             ["temperature", "speed", "height", "a", "sex", "weekday"])
            self.assertEqual(self.browser.run("document.querySelectorAll('.differ svg.bins').length"), 3)
            self.assertEqual(self.browser.run("document.querySelectorAll('#columns .legend').length"), 1)
            self.assertEqual(self.browser.run("document.querySelectorAll('.levels')[0].children.length"), 12)
            self.assertEqual(self.browser.run(
                "(s => s.scrollWidth - s.clientWidth)(document.querySelector('#columns .scroll'))"), 0)
            for cells in self.browser.run(places):
                self.assertLessEqual(max(right for _, _, right in cells), width)
                in_a_row = len({round(top) for _, top, _ in cells}) == 1
                self.assertEqual(in_a_row, width == 1280)
            self.assertGreater(self.browser.run(
                "document.querySelector('.differ svg.bins').getBoundingClientRect().width"), 230)

    def test_hostile_texts_are_only_texts(self):
        self.show("hostile", DESK)
        self.assertEqual(self.browser.run("typeof window.hacked"), "undefined")
        self.assertEqual(self.browser.run("document.querySelectorAll('img, script, b').length"), 0)
        self.assertIn("<img src=x onerror=", self.browser.run("document.body.innerText"))

    def test_images_keep_their_shape_and_their_pixels(self):
        """The small picture is magnified, the tall one fits a sheet of paper, the wide one scrolls."""
        natural = None
        for name in [*self.each(("images",)), "print"]:
            if name == "print":
                self.show("images", (700, 1000, False), "dark", "print")
            got = self.browser.run(IMAGES)
            self.assertEqual([(i["title"], i["complete"]) for i in got],
                             [("Draws of the model", True), ("One column", True), ("Many columns", True)])
            natural = natural or [(i["w"], i["h"]) for i in got]
            for i, size in zip(got, natural):
                self.assertEqual((i["w"], i["h"], i["rendering"]), (*size, "pixelated"), name)
                self.assertAlmostEqual(i["width"] / i["height"] * i["h"] / i["w"], 1, delta=0.02, msg=name)
            small, tall, wide = got
            if name != "print":
                self.assertEqual(small["width"] / small["w"], 4, name)  # by a whole number
                if "phone" in name:
                    self.assertGreater(wide["width"], 700)  # it scrolls, in a region of its own
            self.assertLessEqual(max(small["height"], tall["height"]),
                                 18.01 / 2.54 * 96 if name == "print" else 10000)
            self.assertEqual(self.browser.run(CONTRAST)["out"], [], name)
        words = self.browser.run("[...document.querySelector('figure table').rows].map(r => r.innerText)")
        self.assertEqual(len(words), 13)
        self.assertRegex(words[0], r"row\s+column\s+chain\s+log_density")
        self.assertRegex(words[2], r"^1\s+2\s+7\s+-123[01]$")

    def test_the_verdict_is_seen_first(self):
        for kind, word in (("trust", "Trust"), ("doubt", "Doubt"), ("reject", "Reject")):
            self.show(kind, PHONE)
            got = self.browser.run("[document.querySelector('.badge').innerText, document.querySelector("
                                   "'.value').getBoundingClientRect().bottom]")
            self.assertIn(word, got[0])
            self.assertLess(got[1], 844, "the first number is below the first screen")

    def test_print_is_light_whole_and_open(self):
        self.show("doubt", (800, 1100, False), "dark", "print")
        self.assertEqual(self.browser.run("getComputedStyle(document.body).backgroundColor"),
                         "rgb(255, 255, 255)")
        seen = self.browser.run("[...document.querySelectorAll('details:not(.long) table')].map(t => "
                                "t.checkVisibility())")
        if self.browser.run("CSS.supports('selector(::details-content)')"):
            self.assertGreater(len(seen), 5)
            self.assertEqual(set(seen), {True})
        self.assertEqual(self.browser.run("getComputedStyle(document.querySelector('nav')).display"),
                         "none")
        self.assertEqual(self.browser.run(CONTRAST)["out"], [])
        pdf = self.browser.pdf()
        self.assertTrue(pdf.startswith(b"%PDF"))
        pages = len(re.findall(rb"/Type\s*/Page[^s]", pdf))
        self.assertTrue(3 <= pages <= 20, pages)
        if KEEP:
            with open(os.path.join(KEEP, "doubt.pdf"), "wb") as f:
                f.write(pdf)


if __name__ == "__main__":
    for name, found in (("chromium", browser.find()), ("gnuplot", shutil.which("gnuplot"))):
        if not found:
            print(f"skipped: there is no {name} on this machine")
            sys.exit(77)
    unittest.main(argv=sys.argv[:1])
