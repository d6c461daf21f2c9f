"""check_links.py DIRECTORY: every link inside the site, of pages and of style sheets, leads to a file, and to an anchor in
it, that are there."""

import html.parser
import pathlib
import re
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def of_style_sheet(path):
    text = path.read_text(encoding="utf-8")
    return [url for _, url in re.findall(r"""url\(\s*(["']?)(.*?)\1\s*\)""", text) if not url.startswith("data:")]


def main(root):
    pages = {p.resolve(): Page(p) for p in root.rglob("*.html")}
    broken = []
    links = 0
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            links += 1
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                broken.append(f"{path.relative_to(root)}: {link}")
            elif parts.fragment and target in pages:
                if urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                    broken.append(f"{path.relative_to(root)}: {link}: no such anchor")
    for path in root.rglob("*.css"):
        for link in of_style_sheet(path):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or not parts.path:
                continue
            links += 1
            if not (path.parent / urllib.parse.unquote(parts.path)).exists():
                broken.append(f"{path.relative_to(root)}: {link}")
    print(*broken, sep="\n", end="\n" if broken else "")
    print(f"{len(pages)} pages, {links} links, {len(broken)} broken")
    return 1 if broken or not pages else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
