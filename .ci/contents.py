"""What the packages have in them: `python .ci/contents.py CLONE dist/*`.

A wheel has the library and nothing else, every module and every file beside them; an sdist has besides what builds it.
"""

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

#: What may lie beside the modules: the page, templates, the mark of types; in some the core, too.
BESIDE = {".py", ".typed", ".html", ".css", ".mjs", ".json", ".so", ".pyd"}
PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".pdf", ".ipynb", ".npz", ".npy", ".csv"}
#: What a package weighs at most, in bytes: a fifth more than what it weighed when this was written.
MOST = {"wheel with the core": 1_950_000, "wheel": 1_730_000, "sdist": 1_580_000}


def names(package: Path) -> list[str]:
    """The files of a package; those of an sdist without the folder that they are in."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as opened:
            return [name for name in opened.namelist() if not name.endswith("/")]
    with tarfile.open(package) as opened:
        return [member.name.partition("/")[2] for member in opened.getmembers() if member.isfile()]


def faults(package: Path, clone: Path) -> list[str]:
    """What is wrong with one package, in sentences."""
    found, said = names(package), []
    inside = {name for name in found if name.startswith("qpsvm/")}
    modules = {path.relative_to(clone).as_posix() for path in (clone / "qpsvm").rglob("*.py")}
    page = {
        path.relative_to(clone).as_posix() for path in (clone / "qpsvm/faces/play/page").rglob("*") if path.is_file()
    }
    if missing := (modules | page | {"qpsvm/py.typed"}) - inside:
        said.append(f"not packed: {sorted(missing)}")
    if foreign := [name for name in found if name.startswith(("tests/", "docs/", "benchmarks/", "notebooks/"))]:
        said.append(f"no part of the library: {foreign[:5]}")
    if pictures := [name for name in found if PurePosixPath(name).suffix in PICTURES]:
        said.append(f"pictures or data: {pictures[:5]}")
    if package.suffix == ".whl":
        info = [name for name in found if ".dist-info/" in name]
        if beside := sorted(set(found) - inside - set(info)):
            said.append(f"beside the library: {beside[:5]}")
        if odd := sorted(name for name in inside if PurePosixPath(name).suffix not in BESIDE):
            said.append(f"of no kind that belongs there: {odd[:5]}")
        core = [name for name in inside if name.endswith((".so", ".pyd"))]
        if len(core) != int("abi3" in package.name):
            said.append(f"its tag and its core do not agree: {core}")
        if not any(name.endswith("/licenses/LICENSE") for name in info):
            said.append("the licence is not in it")
    elif missing := {"pyproject.toml", "setup.py", "LICENSE", "README.md"} - set(found):
        said.append(f"cannot be built without {sorted(missing)}")
    kind = "sdist" if package.suffix == ".gz" else "wheel with the core" if "abi3" in package.name else "wheel"
    if package.stat().st_size > MOST[kind]:
        said.append(f"{package.stat().st_size} bytes, and at most {MOST[kind]} are allowed to a {kind}")
    return [f"{package.name}: {each}" for each in said]


def main(clone: str, *packages: str) -> None:
    """Print a line for each package, or end with what is wrong."""
    wrong = [fault for package in packages for fault in faults(Path(package), Path(clone))]
    for package in map(Path, packages):
        print(f"{package.name}: {len(names(package))} files, {package.stat().st_size / 1e6:.2f} MB")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main(*sys.argv[1:])
