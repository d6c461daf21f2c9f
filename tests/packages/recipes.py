"""recipes.py TREE: the recipes can be read, as Spack and conda-build read them, and give CMake only options that it has.

Spack's directives are stand-ins that note what they are given; conda's recipe is rendered by Jinja and read as YAML."""

import pathlib
import re
import sys
import types

import jinja2
import yaml


def options_of(tree):
    text = "\n".join(p.read_text(encoding="utf-8") for p in [tree / "CMakeLists.txt", *(tree / "cmake").glob("*.cmake"),
                                                            tree / "python/CMakeLists.txt", tree / "report/CMakeLists.txt"])
    return set(re.findall(r"(?:option\(|set\()(TAQUIN_\w+)", text))


class Spec:
    """A package with some of its variants on."""

    def __init__(self, on):
        self.on = on

    def satisfies(self, what):
        return (what[1:] in self.on) == (what[0] == "+")


def read_spack(path):
    """The recipe's class, the variants, and the arguments of every directive by its name."""
    noted = {name: [] for name in ("license", "version", "variant", "depends_on", "conflicts")}

    class CMakePackage:
        def define(self, name, value):
            assert isinstance(value, bool), (name, value)
            return f"-D{name}:BOOL={'ON' if value else 'OFF'}"

        def define_from_variant(self, name, variant):
            assert variant in {args[0] for args, _ in noted["variant"]}, variant
            return self.define(name, self.spec.satisfies(f"+{variant}"))

    module = types.ModuleType("spack.package")
    module.CMakePackage = CMakePackage
    for name, calls in noted.items():
        setattr(module, name, lambda *args, calls=calls, **keywords: calls.append((args, keywords)))
    sys.modules |= {"spack": types.ModuleType("spack"), "spack.package": module}
    scope = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    return scope["Taquin"], noted


def check_spack(tree, wrong):
    recipe, noted = read_spack(tree / "packaging/spack/package.py")
    variants = {args[0] for args, _ in noted["variant"]}
    for name, allowed in (("variant", {"default", "description"}), ("depends_on", {"type", "when"}),
                          ("conflicts", {"when", "msg"})):
        for args, keywords in noted[name]:
            wrong += [f"Spack: {name} {args} has no {k}" for k in set(keywords) - allowed]
            wrong += [f"Spack: {name} {args}: no variant {v}" for v in
                      re.findall(r"[+~](\w+)", " ".join([keywords.get("when", "")])) if v not in variants]
    for on in (set(), variants):
        package = recipe()
        package.spec = Spec(on)
        given = [re.match(r"-D(\w+):BOOL=(ON|OFF)$", a) for a in package.cmake_args()]
        for match in given:
            if match[1].startswith("TAQUIN_") and match[1] not in options_of(tree):
                wrong.append(f"Spack: CMake has no option {match[1]}")
        tools = next((m[2] for m in given if m[1] == "TAQUIN_TOOLS"), "not given")
        if tools != ("ON" if on else "OFF"):
            wrong.append(f"Spack: with {on or 'nothing'} TAQUIN_TOOLS is {tools}")


def check_conda(tree, wrong):
    folder = tree / "packaging/conda"
    config = yaml.safe_load((folder / "conda_build_config.yaml").read_text(encoding="utf-8"))

    def load_file_regex(load_file, regex_pattern, from_recipe_dir):
        assert from_recipe_dir
        return re.search(regex_pattern, (folder / load_file).read_text(encoding="utf-8"))

    for mpi in config["mpi"]:
        text = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(
            (folder / "meta.yaml").read_text(encoding="utf-8")).render(
                load_file_regex=load_file_regex, compiler=lambda language: f"{language}-compiler", mpi=mpi)
        recipe = yaml.safe_load(text)
        version = re.search(r"project\(taquin VERSION ([0-9.]+)", (tree / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
        if recipe["package"] != {"name": "taquin", "version": version}:
            wrong.append(f"conda: the package is {recipe['package']}")
        if not (folder / recipe["source"]["path"] / recipe["about"]["license_file"]).exists():
            wrong.append("conda: the license file is not there")
        for part in ("host", "run"):
            if mpi not in recipe["requirements"][part]:
                wrong.append(f"conda: {mpi} is missing from {part}")
        for name in re.findall(r"-D (TAQUIN_\w+)=", recipe["build"]["script"]):
            if name not in options_of(tree):
                wrong.append(f"conda: CMake has no option {name}")


def main(tree):
    wrong = []
    check_spack(tree, wrong)
    check_conda(tree, wrong)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
