"""figures.py ROOT MERMAID CHROMIUM: mermaid can read every figure in README.md, DESIGN.md, CONTRIBUTING.md and docs/."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

root, mermaid, chromium = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
if not mermaid.is_file():
    sys.exit(f"there is no {mermaid}: docs/site/build makes it")
figures = []
for page in [*root.glob("*.md"), *sorted((root / "docs").rglob("*.md"))]:
    for text in re.findall(r"^```mermaid\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        figures.append({"page": str(page.relative_to(root)), "text": text})
html = """<!doctype html><meta charset="utf-8"><script src="MERMAID"></script><pre id="result">not run</pre><script>
(async () => {
  const wrong = [];
  for (const { page, text } of FIGURES) {
    try { await mermaid.parse(text); } catch (e) { wrong.push(page + ": " + text.split("\\n")[0] + ": " + e.message); }
  }
  document.getElementById("result").textContent = wrong.length ? wrong.join("\\n") : "all are read";
})();
</script>"""
with tempfile.TemporaryDirectory() as work:
    page = pathlib.Path(work) / "figures.html"
    page.write_text(html.replace("MERMAID", mermaid.as_uri()).replace("FIGURES", json.dumps(figures)), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--virtual-time-budget=30000",
               f"--user-data-dir={work}/profile"]
    done = subprocess.run([chromium, *options, "--dump-dom", page.as_uri()], capture_output=True, text=True, check=True, timeout=240)
result = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.S)
print(len(figures), "figures:", result.group(1) if result else done.stderr[-2000:])
sys.exit(0 if figures and result and result.group(1) == "all are read" else 1)
