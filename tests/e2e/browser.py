"""A page in headless Chromium, as Debian packages it: what it draws, says on its
console and asks the network for."""

import html
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

CHROMIUM = shutil.which("chromium")
LIMIT_S = 120
FRAME_HEIGHT = 20_000  # pixels, more than any page is high

# What a page is asked once it has loaded. A canvas is drawn on where its pixels
# differ; a body wider than its window would scroll sideways.
PROBE = """
<script>
// How many dots the label of a chart's bound lies on; null without a label.
function coveredDots(chart) {
  const box = chart.boundLabel;
  if (!box) return null;
  return chart.data.datasets.flatMap((set, index) =>
    set.pointRadius > 0 ? chart.getDatasetMeta(index).data : []).filter(({x, y}) =>
      x > box.x && x < box.x + box.width &&
      y > box.y && y < box.y + box.height).length;
}
function probe() {
  const canvases = [...document.querySelectorAll('canvas')].map((canvas) => {
    const pixels = new Uint32Array(canvas.getContext('2d').getImageData(
        0, 0, canvas.width, canvas.height).data.buffer);
    return {section: canvas.closest('section').id,
            label: canvas.getAttribute('aria-label'),
            covered: coveredDots(Chart.getChart(canvas)),
            colors: new Set(pixels).size};
  });
  return JSON.stringify({
    canvases, width: innerWidth, scrollWidth: document.body.scrollWidth,
    documentWidth: document.documentElement.scrollWidth,
    height: Math.ceil(document.body.getBoundingClientRect().bottom),
    isDark: matchMedia('(prefers-color-scheme: dark)').matches,
    ground: getComputedStyle(document.body).backgroundColor,
    fetched: performance.getEntriesByType('resource').map((one) => one.name),
    text: document.body.innerText,
  });
}
</script>
"""

# A window cannot be as narrow as a phone, a frame can.
FRAME = """<!DOCTYPE html><body style="margin:0">
<iframe id="frame" style="border:0;display:block" src="page.html" width="%d"
  height="%d"></iframe><pre id="told"></pre>
<script>
window.addEventListener('load', () => {
  const page = document.getElementById('frame').contentWindow;
  document.getElementById('told').textContent = page.probe();
});
</script>
"""


def with_status(text, status):
    """Returns the live page that needs no server: it is told this /status.json."""
    stub = ("<script>window.fetch = async () => "
            f"({{ok: true, json: async () => ({status})}});</script></head>")
    return text.replace("</head>", stub, 1)


class Page:
    """A page that was looked at. `told` is what PROBE found, `console` the lines
    of its console; `screenshot`, where it is asked for, a PNG of all of it."""

    def __init__(self, path, width, is_dark, shoots=False):
        self._width = width
        self._is_dark = is_dark
        with tempfile.TemporaryDirectory(prefix="ferry-page-") as folder:
            self._folder = pathlib.Path(folder)
            text = pathlib.Path(path).read_text(encoding="utf-8")
            (self._folder / "page.html").write_text(
                text.replace("</body>", PROBE + "</body>"), encoding="utf-8")
            self._look()
            self.screenshot = self._shoot() if shoots else None

    def _look(self):
        told = self._run(FRAME_HEIGHT, "--dump-dom")
        found = re.search(r'<pre id="told">(.*?)</pre>', told.stdout, re.S)
        if not found or not found.group(1):
            raise RuntimeError(f"the page told nothing: {told.stderr[-2000:]}")
        self.told = json.loads(html.unescape(found.group(1)))
        self.console = re.findall(r"CONSOLE.*", told.stderr)

    def _shoot(self):
        path = self._folder / "screenshot.png"
        self._run(self.told["height"], f"--screenshot={path}")
        return path.read_bytes()

    def _run(self, height, *flags):
        """Loads the page in a frame of that height, without any network."""
        frame = self._folder / "frame.html"
        frame.write_text(FRAME % (self._width, height), encoding="utf-8")
        return subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
             "--hide-scrollbars", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--proxy-server=127.0.0.1:9",
             "--allow-file-access-from-files", "--enable-logging=stderr",
             f"--user-data-dir={self._folder / 'profile'}",
             f"--window-size={self._width},{height}",
             f"--blink-settings=preferredColorScheme={0 if self._is_dark else 1}",
             *flags, frame.as_uri()],
            capture_output=True, text=True, timeout=LIMIT_S, check=True)
