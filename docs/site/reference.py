"""reference.py TREE DIRECTORY XML: the pages of the reference. C and C++ by Doxygen's XML, a section per header; Fortran
and Python from the comments of their sources, where a public name without one is an error."""

import ast
import pathlib
import re
import sys
import textwrap
from xml.etree import ElementTree

import docstrings

CPP = """
taquin alltoall ranges range_plans in_place plan exchange options migrate migrate_arrays redistribute sparse failure shared_buffer datatypes
layout element_types
patterns cost_model error types
""".split()


class Undocumented(Exception):
    pass


def summary_of(header):
    """The comment that a header begins with."""
    lines = []
    for line in header.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return "\n".join(lines)


def text_of(node):
    """A description of Doxygen's as Markdown."""
    if node is None:
        return ""
    parts = [node.text or ""]
    for child in node:
        inner = text_of(child)
        parts.append({"computeroutput": f"`{inner}`", "verbatim": f"\n```cpp\n{inner}\n```\n",
                      "para": f"{inner}\n\n", "listitem": f"- {inner.strip()}\n"}.get(child.tag, inner))
        parts.append(child.tail or "")
    return "".join(parts)


def description_of(node):
    return (text_of(node.find("briefdescription")) + text_of(node.find("detaileddescription"))).strip()


def flat(node):
    return "" if node is None else " ".join("".join(node.itertext()).split())


def wrapped(code):
    """A long declaration on several lines."""
    return "\n".join(textwrap.wrap(code, 78, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False))


def declaration_of(member):
    template = ", ".join(" ".join(filter(None, (flat(p.find("type")), flat(p.find("declname")))))
                         for p in member.findall("templateparamlist/param"))
    lines = [f"template <{template}>"] if template else []
    if member.get("kind") == "enum":
        values = ", ".join(flat(v.find("name")) for v in member.findall("enumvalue"))
        lines.append(f"enum class {flat(member.find('name'))} {{ {values} }};")
    elif member.get("kind") == "typedef":
        lines.append(f"using {flat(member.find('name'))} = {flat(member.find('type'))};")
    else:
        value = f" {flat(member.find('initializer'))}" if member.get("kind") == "variable" else ""
        head = f"{flat(member.find('type'))} {flat(member.find('name'))}{flat(member.find('argsstring'))}".strip()
        lines.append(wrapped(f"{head}{value}".rstrip() + ";"))
    return re.sub(r"<\s+|\s+(?=>)", lambda m: m.group().strip(), "\n".join(lines))


def cpp_entries(xml, header):
    """What a header declares in public, in its order: (line, name, declaration, description, members)."""
    entries = []
    for file in xml.glob("*.xml"):
        for compound in ElementTree.parse(file).getroot().findall("compounddef"):
            kind, name = compound.get("kind"), flat(compound.find("compoundname"))
            place = compound.find("location")
            members = [(m, m.find("location")) for m in compound.findall("sectiondef/memberdef")
                       if m.get("prot") == "public"]
            members = sorted(((int(at.get("line")), m) for m, at in members if at.get("file", "").endswith(header)),
                             key=lambda pair: pair[0])
            if kind == "namespace":
                short = name.removeprefix("taquin").removeprefix("::")
                for line, m in members:
                    name = f"{short}::" if short else ""
                    entries.append((line, name + flat(m.find("name")), declaration_of(m), description_of(m), []))
            elif kind in ("class", "struct", "concept") and place.get("file", "").endswith(header):
                if compound.get("prot") not in (None, "public"):
                    continue
                what = "concept" if kind == "concept" else kind
                parts = [(declaration_of(m), description_of(m)) for _, m in members]
                entries.append((int(place.get("line")), name.removeprefix("taquin::"), f"{what} {name};",
                                description_of(compound), parts))
    return sorted(entries, key=lambda entry: entry[0])


def cpp_page(tree, out, xml):
    headers = {p.stem: p for p in (tree / "include/taquin").glob("*.hpp")}
    headers.pop("language")  # declares nothing
    if set(headers) - set(CPP):
        raise Undocumented(f"headers that the reference does not list: {sorted(set(headers) - set(CPP))}")
    with open(out / "cpp.md", "w", encoding="utf-8") as page:
        print("# C++\n\n`#include \"taquin/taquin.hpp\"` brings the common ones; all names are in namespace `taquin`.",
              file=page)
        for header in CPP:
            print(f"\n## taquin/{header}.hpp\n\n{summary_of(headers[header])}\n", file=page)
            last = None
            entries = cpp_entries(xml, f"/{header}.hpp")
            if header != "taquin" and not entries:
                raise Undocumented(f"taquin/{header}.hpp: Doxygen found nothing in it")
            for _, name, declaration, text, members in entries:
                if name != last:
                    print(f"\n### {name}\n", file=page)
                last = name
                print(f"```cpp\n{declaration}\n```\n\n{text}\n", file=page)
                for member, about in members:
                    about = about.replace("\n", "\n  ")
                    one_line = " ".join(member.split())
                    print(f"- `{one_line}`\n\n  {about}\n", file=page)


def c_page(tree, out):
    text = (tree / "include/taquin/taquin.h").read_text(encoding="utf-8")
    head = re.match(r"/\*(.*?)\*/", text, re.S).group(1)
    head = "\n".join(line.strip().removeprefix("*").strip() for line in head.splitlines())
    with open(out / "c.md", "w", encoding="utf-8") as page:
        print(f"# C\n\n`#include \"taquin/taquin.h\"`\n\n{head}\n", file=page)
        # The struct of the options is there as a struct; its typedef of the same name would be there twice.
        print("```{doxygenfile} taquin.h\n:sections: innerclass func enum define public-attrib\n```", file=page)
        for title, header, sections in (("Migration", "migrate.h", "innerclass func public-attrib"),
                                        ("Layouts", "layout.h", "func enum"),
                                        ("Patterns and datatypes", "patterns.h", "func enum")):
            print(f"\n## {title}\n\n```{{doxygenfile}} {header}\n:sections: {sections}\n```", file=page)
        print("\n## Version\n\n```{doxygenfile} version.h\n:sections: define\n```", file=page)
        text += (tree / "include/taquin/layout.h").read_text(encoding="utf-8")
        for name in re.findall(r"^typedef struct (?:\w+) \*(\w+);", text, re.M):
            print(f"\n```{{doxygentypedef}} {name}\n```", file=page)


def fortran_page(tree, out):
    lines = (tree / "fortran/module.inc").read_text(encoding="utf-8").splitlines()
    intro, comment, entries, missing = [], [], [], []
    constants = []  # names, and what they mean
    types = set()
    fields = None  # of the type whose lines are being read
    for number, line in enumerate(lines):
        stripped = line.strip()
        if fields is not None:
            if stripped == "end type":
                if fields and fields[0] != "private":
                    entries[-1][1].extend(["", "```fortran", *fields, "```"])
                fields = None
            else:
                fields.append(stripped)
            continue
        if stripped.startswith("! ") and not entries and not constants:
            intro.append(stripped[2:])
        if stripped.startswith("!>"):
            comment.append(stripped[2:].strip())
            continue
        public = re.match(r"public :: (.*)", stripped)
        declared = re.match(r"(?:integer|type).*\bpublic\b.*:: *(\w+)", stripped)
        if declared and "parameter" in stripped:
            text = stripped + (lines[number + 1].strip() if stripped.endswith("&") else "")
            named = re.findall(r"(TAQUIN_\w+) *=", text)
            if not comment:
                missing.extend(named)
            constants.append((named, " ".join(comment)))
        elif public or declared:
            names = public.group(1) if public else declared.group(1)
            if not comment:
                missing.append(names)
            entries.append((names, comment))
        if re.match(r"type, public(, bind\(C\))? ::", stripped):
            fields = []
            types.add(declared.group(1))
        if stripped:
            comment = []
        if stripped == "contains":
            break
    if missing:
        raise Undocumented(f"Fortran: {', '.join(missing)}")
    intro = [line for line in intro if not line.startswith("TAQUIN_Options as C")][:9]
    with open(out / "fortran.md", "w", encoding="utf-8") as page:
        print("# Fortran\n\n`use taquin` beside `use mpi_f08`, or `use taquin_mpi` beside `use mpi`: the same names, with "
              "integer handles.\n", file=page)
        print("\n".join(intro[1:]), file=page)
        for title, wanted in (("Procedures", False), ("Types", True)):
            print(f"\n## {title}", file=page)
            for names, text in entries:
                if (names in types) == wanted:
                    fortran_entry(page, names, text)
        print("\n## Constants\n\n| name | meaning |\n|---|---|", file=page)
        for named, text in constants:
            print(f"| {', '.join(f'`{name}`' for name in named)} | {text} |", file=page)


def fortran_entry(page, names, text):
    print(f"\n### {names}\n", file=page)
    for line in text:
        call = re.search(r"\(([\w, \[\]]+)\)$", line)
        if call and "ierror" in line or call and line.startswith("("):
            before = line[: call.start()].strip()
            if before:
                print(before, file=page)
            for name in names.split(",")[:1]:
                code = wrapped(f"call {name.strip()}({call.group(1)})").replace("\n", " &\n")
                print(f"\n```fortran\n{code}\n```", file=page)
        else:
            print(line, file=page)


def python_page(tree, out):
    package = tree / "python/taquin"
    if not package.is_dir():
        return
    init = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    exported = next(ast.literal_eval(n.value) for n in init.body
                    if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__")
    found = {}
    for file in [*package.glob("*.pyi"), *package.glob("*.py")]:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                if ast.get_docstring(node) or node.name not in found:
                    found[node.name] = node
    missing = [name for name in exported if name in found and not ast.get_docstring(found[name])]
    missing += [f"{name}.{member}" for name in exported if name in found
                for member in docstrings.undocumented(found[name])]
    if missing:
        raise Undocumented(f"Python: {', '.join(missing)}")
    with open(out / "python.md", "w", encoding="utf-8") as page:
        print(f"# Python\n\n{docstrings.to_markdown(ast.get_docstring(init) or '')}\n", file=page)
        for name in exported:
            if name not in found:
                continue
            for title, node in [(name, found[name]), *((f"{name}.{m.name}", m) for m in docstrings.members(found[name]))]:
                print(f"\n{'###' if '.' in title else '##'} {title}\n\n```python\n{docstrings.signature(node)}\n```\n\n"
                      f"{docstrings.to_markdown(ast.get_docstring(node))}", file=page)


def main(tree, out, xml):
    try:
        for page in (c_page, fortran_page, python_page):
            page(tree, out)
        cpp_page(tree, out, xml)
    except Undocumented as problem:
        print(f"reference.py: not documented: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:4])))
