"""Python's docstrings and signatures as Markdown."""

import ast
import re


def inline(text):
    """reStructuredText's literals and references, as Markdown has them."""
    text = re.sub(r":(?:func|class|meth|mod):`([^`]+)`", r"`\1`", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def to_markdown(text):
    """Paragraphs, a list of parameters and exceptions, and examples as code."""
    out = []
    code = False
    for line in text.splitlines():
        if not code and line.lstrip().startswith(">>>"):
            code = True
            out += ["", "```python"]
        elif code and not line.strip():
            code = False
            out.append("```")
        if code:
            out.append(line)
            continue
        field = re.match(r":(param|raises) (\w+): *(.*)", line)
        if field and not (out and out[-1].startswith(("- ", "  "))):
            out.append("")
        if field:
            raises = "raises " if field[1] == "raises" else ""
            out.append(f"- {raises}`{field[2]}`: {inline(field[3])}")
        elif out and out[-1].startswith(("- ", "  ")) and line.startswith(" "):
            out.append(f"  {inline(line.strip())}")
        else:
            out.append(inline(line))
    return "\n".join(out + (["```"] if code else []))


def without_self(arguments):
    arguments.args = [a for a in arguments.args if a.arg != "self"]
    return ast.unparse(arguments)


def is_property(node):
    return any(getattr(d, "id", "") == "property" for d in node.decorator_list)


def signature(node):
    """How a function is called, a class made, or a property named."""
    if isinstance(node, ast.FunctionDef):
        returns = ast.unparse(node.returns) if node.returns is not None else "None"
        if is_property(node):
            return f"{node.name}: {returns}"
        return f"{node.name}({without_self(node.args)}) -> {returns}"
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and member.name == "__init__":
            return f"class {node.name}({without_self(member.args)})"
    fields = [ast.unparse(m) for m in node.body if isinstance(m, ast.AnnAssign)]
    bases = ", ".join(ast.unparse(b) for b in node.bases)
    return f"class {node.name}({', '.join(fields) or bases})"


def undocumented(node):
    """The public methods and properties of a class that have no docstring; setters need none."""
    return [m.name for m in node.body if isinstance(node, ast.ClassDef) and isinstance(m, ast.FunctionDef)
            and not m.name.startswith("_") and not ast.get_docstring(m)
            and not any(getattr(d, "attr", "") == "setter" for d in m.decorator_list)]


def members(node):
    """The documented methods and properties of a class; of a property the one that reads."""
    for member in node.body if isinstance(node, ast.ClassDef) else []:
        if isinstance(member, ast.FunctionDef) and ast.get_docstring(member):
            if not member.name.startswith("_") or member.name == "__call__":
                yield member
