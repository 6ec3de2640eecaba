"""The shape of the library, read from its source: who imports whom, where equations are defined, what is documented."""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import qpsvm
from qpsvm.machines.registry import LAZY_IMPORTS as MACHINES

ROOT = Path(qpsvm.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

#: The rooms from the bottom up: the folders of `qpsvm`, and each of `faces`. A file imports from rooms below its own,
#: and from its own as long as that makes no circle. Every file is in one of them.
ROOMS = (
    {"base"},
    {"core"},
    {"data"},
    {"space"},
    {"program"},
    {"bounds"},
    {"result"},
    {"solvers", "machines"},
    {"backends"},
    {"solve"},
    {"many"},
    {"estimators", "derivation"},
    {"faces.plotting"},
    {"faces.play"},
    {"__init__"},
    {"faces", "faces.cli"},
    {"__main__"},
)
LEVEL = {name: level for level, names in enumerate(ROOMS) for name in names}
#: What our own algorithms may know: arrays, rows, kernels and operators, neither problems nor results.
BELOW_SOLVERS = {"base", "core", "data", "space", "program", "solvers"}
#: The families of solvers know what all share and the interior-point method for QPs, and not each other.
FAMILIES = {"linear", "kernel", "study"}
#: Packages that are imported when first used.
LATE = ("cvxopt", "osqp", "cvxpy", "clarabel", "scs", "sklearn", "matplotlib", "pandas", "joblib", "jinja2", "pygments",
        "latex2mathml", "threadpoolctl", "pyarrow", "dask", "distributed",
        "starlette", "uvicorn", "websockets", "anywidget", "traitlets")  # fmt: skip
#: Rooms of ours that a first solve of samples in memory does without, and so is not made to wait for.
UNUSED = ("faces", "many", "derivation", "estimators", "solve.program",
          "backends.own.sequential_dual_", "result.saving", "data.files")  # fmt: skip
#: Names of `qpsvm` that are no part of `from qpsvm import *`: they need more, or are packages.
BESIDE = {"Playground", "derivation", "estimators", "patch_sklearn", "unpatch_sklearn"}


def area(path: Path) -> str:
    """The room that a file belongs to: its module, or the folder that it is in."""
    relative = path.relative_to(ROOT)
    depth = 2 if relative.parts[0] == "faces" and len(relative.parts) > 2 else 1
    if len(relative.parts) > 1:
        return ".".join(relative.parts[:depth])
    return relative.stem


def module(path: Path) -> str:
    """The dotted name of a file."""
    parts = ["qpsvm", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module(path): path for path in FILES}


@cache
def parse_file(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def list_imports(path: Path) -> list[tuple[str, int]]:
    """List full names of everything that a file imports, with line numbers: late imports and types' included."""
    package = ["qpsvm", *path.relative_to(ROOT).parts[:-1]]
    found: list[tuple[str, int]] = []
    for node in ast.walk(parse_file(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            found += [(f"{stem}.{alias.name}", node.lineno) for alias in node.names]
    return found


def inner_imports(path: Path) -> Iterator[tuple[str, int]]:
    """The modules of the library that a file imports, with line numbers."""
    for name, line in list_imports(path):
        while name and name not in MODULES:
            name = name.rpartition(".")[0]
        if name and MODULES[name] != path:
            yield name, line


def find_room(name: str) -> str:
    """Return the room of a module."""
    return area(MODULES[name])


def test_the_reading_of_imports_finds_what_is_known():
    found = {name for name, _ in inner_imports(ROOT / "solve" / "call.py")}
    assert {
        "qpsvm.backends.limits",
        "qpsvm.base.errors",
        "qpsvm.machines.problem.problem",
        "qpsvm.result.svm_result",
    } <= found
    assert {"c_svm", "nu_svm"} <= {path.stem for path in FILES}
    assert "qpsvm.machines.problem.problem" in {name for name, _ in inner_imports(ROOT / "machines" / "c_svm.py")}


def test_every_file_is_in_a_room_and_every_room_exists():
    assert {area(path) for path in FILES} == set(LEVEL)


def test_the_guide_draws_the_same_map():
    """CONTRIBUTING's table of folders has them in the order of `ROOMS`."""
    guide = (Path(__file__).resolve().parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = guide.split("## Architecture")[1].split("##")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, flags=re.MULTILINE)
    drawn = [set(re.findall(r"`(\w+)`", row)) for row in rows]
    assert drawn == [*[names for names in ROOMS if not any("_" in name or "." in name for name in names)], {"faces"}]


def test_nothing_goes_round_in_a_circle():
    """Imports inside of folders too, late ones, and those for type checking."""
    TopologicalSorter({name: {other for other, _ in inner_imports(path)} for name, path in MODULES.items()}).prepare()


def test_imports_point_one_way():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}, which is not below it"
        for path in FILES
        for name, line in inner_imports(path)
        if find_room(name) != area(path) and LEVEL[find_room(name)] >= LEVEL[area(path)]
    ]
    assert wrong == []


def test_solvers_know_arrays_and_operators_only():
    for path in sorted((ROOT / "solvers").rglob("*.py")):
        for name, line in inner_imports(path):
            where = f"{path.relative_to(ROOT)}:{line} imports {name}"
            assert find_room(name) in BELOW_SOLVERS, where
            family = path.parent.name
            other = name.split(".")[2] if name.startswith("qpsvm.solvers.") else None
            assert other not in FAMILIES - {family}, f"{where}, another family"


def test_only_backends_import_solvers():
    for path in FILES:
        if "solvers" in {find_room(name) for name, _ in inner_imports(path)}:
            assert area(path) in ("backends", "solvers"), path


def test_derivations_are_listed_below_what_renders_them():
    """The steps of a machine know nothing of text, page and registry; text and page know what is shown only."""
    folder = "qpsvm.derivation."
    drawn = {"page", "terminal", "article"}
    for name, path in MODULES.items():
        if not name.startswith(folder):
            continue
        here = name.removeprefix(folder)
        inner = {other for other, _ in inner_imports(path)}
        if here in drawn | {"display"}:
            assert inner <= {f"{folder}display", f"{folder}latex", "qpsvm.base.errors", "qpsvm.base.arrays.types"}, path
        elif here not in ("step", "derived"):
            assert not inner & {f"{folder}{other}" for other in drawn}, path
        if here not in ("derive", "derived"):
            assert f"{folder}registry" not in inner, path


def test_solver_packages_are_imported_by_backends_only():
    for path in FILES:
        for name, line in list_imports(path):
            if name.split(".")[0] in ("cvxopt", "osqp", "cvxpy", "clarabel", "scs", "highspy"):
                assert area(path) == "backends", f"{path.relative_to(ROOT)}:{line} imports {name}"


def public(body: list[ast.stmt]) -> dict[str, str]:
    """The names that imports of ours bind, each with the module that it comes from, or is."""
    imports = [
        node
        for node in body
        if isinstance(node, ast.ImportFrom)
        and node.module not in ("typing", "qpsvm.base.renamed_modules", "qpsvm.machines.registry")
    ]
    origins = [(alias, f"{node.module}.{alias.name}", node.module) for node in imports for alias in node.names]
    return {alias.asname or alias.name: full if full in MODULES else str(home) for alias, full, home in origins}


def read_late_imports(tree: ast.Module) -> tuple[dict[str, str], dict[str, str]]:
    """Read what a package imports late, by name: as type checkers are told, and as the table says that is followed."""
    (late,) = (node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(late.test) == "TYPE_CHECKING"
    assert all(isinstance(node, ast.ImportFrom) for node in late.body)
    (made,) = late.orelse  # __getattr__, __dir__ = build_lazy_attributes(__name__, {…})
    assert isinstance(made, ast.Assign)
    assert isinstance(made.value, ast.Call)
    assert ast.unparse(made.targets[0]) == "(__getattr__, __dir__)"
    table = made.value.args[1]
    assert isinstance(table, ast.Dict)
    groups: dict[str, tuple[str, ...]] = {}
    for key, value in zip(table.keys, table.values, strict=True):
        if key is None:  # all machines that are registered
            assert ast.unparse(value) == "_LATE"
            groups |= MACHINES
        else:
            groups[ast.literal_eval(key)] = ast.literal_eval(value)
    homes = [(name, module) for module, names in groups.items() for name in names or (module.rpartition(".")[2],)]
    assert len(homes) == len(dict(homes)), "a name stands twice"
    return public(late.body), dict(homes)


def test_init_holds_the_public_names_and_nothing_else():
    tree = parse_file(ROOT / "__init__.py")
    assert {type(node) for node in tree.body} <= {
        ast.Expr,
        ast.ImportFrom,
        ast.Assign,
        ast.If,
    }  # `install_renamed_modules()` is one
    late, _ = read_late_imports(tree)
    at_once = public(tree.body)
    assert not set(at_once) & set(late)
    assert sorted({*at_once, *late} - BESIDE) == sorted(qpsvm.__all__)
    assert set(late) >= BESIDE
    assert {*late, *at_once} <= set(dir(qpsvm))
    with pytest.raises(AttributeError, match="module 'qpsvm' has no attribute 'Playgruond'"):
        _ = qpsvm.Playgruond


@pytest.mark.parametrize("package", ["qpsvm", "qpsvm.machines", "qpsvm.data.sources"])
def test_what_is_imported_late_is_what_type_checkers_see(package):
    """The table of late names says the same as the imports under `TYPE_CHECKING`, and each is there when asked for."""
    told, followed = read_late_imports(parse_file(MODULES[package]))
    assert told == followed
    here = import_module(package)
    for name, home in followed.items():
        if name != "Playground":  # whose package is one of the extras
            assert getattr(here, name) is getattr(sys.modules[home], name, sys.modules[home])


# --- what an import costs ---------------------------------------------------------------------------------------------


def run(code: str, folder: Path | None = None) -> str:
    """What a fresh interpreter prints; where a folder is given, its modules are there and in it."""
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if folder is not None:
        surroundings |= {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300, cwd=folder,
        env=surroundings,
    ).stdout  # fmt: skip


@pytest.fixture(scope="module")
def module_sets() -> list[set[str]]:
    """The modules of a fresh interpreter: after the import, with a problem and its QP printed, after a first solve.

    It ends with a star, for which every public name has to be there.
    """
    code = (
        "import sys, qpsvm; print(*sys.modules);"
        "problem = qpsvm.CSVM([[0.0], [1.0]], [0, 1], kernel='rbf'); text = str(problem.qp('dual'));"
        "print(*sys.modules); qpsvm.solve(problem); print(*sys.modules);"
        "from qpsvm import *; missing = set(qpsvm.__all__) - set(globals()); assert not missing, missing"
    )
    return [set(line.split()) for line in run(code).splitlines()]


@pytest.mark.slow
def test_import_loads_no_solver(module_sets):
    packages = {name.split(".")[0] for name in module_sets[0]}
    assert {"numpy", "scipy"} <= packages
    assert not set(LATE) & packages


@pytest.mark.slow
def test_a_problem_and_its_qp_load_no_solver(module_sets):
    assert not set(LATE) & {name.split(".")[0] for name in module_sets[1]}


@pytest.mark.slow
def test_a_first_solve_waits_for_nothing_that_it_does_not_use(module_sets):
    for modules in module_sets:
        ours = {name.removeprefix("qpsvm.") for name in modules if name.startswith("qpsvm.")}
        assert {"machines", "solve", "result"} <= ours
        assert not [name for name in ours if name.startswith(UNUSED)]


@pytest.mark.slow
def test_import_is_quick(tmp_path):
    """It takes no longer than that of NumPy and SciPy before it, a third as long as this is written.

    It is of a copy, so that this holds where the files lie in a folder into which nothing is written, too; once its
    bytecode is there, as that of any package.
    """
    shutil.copytree(ROOT, tmp_path / "qpsvm", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "from time import process_time as now; start = now(); import numpy, scipy.linalg, scipy.sparse; there = now();"
        "import qpsvm; print(there - start, now() - there)"
    )
    run(code, tmp_path)  # writes the bytecode
    assert any(tmp_path.rglob("call.*.pyc"))
    shares = []
    while len(shares) < 5 and min(shares, default=1.0) >= 1.0:  # a busy machine may stretch one of the two
        before, ours = map(float, run(code, tmp_path).split())
        shares.append(ours / before)
    assert min(shares) < 1.0


# --- equations --------------------------------------------------------------------------------------------------------

TAG = r"[A-Z][A-Z0-9]+\.\d+"
DEFINITION = re.compile(rf"^ {{4,}}\(({TAG})\)  \S", re.MULTILINE)
MENTION = re.compile(rf"\b({TAG})\b")


def docstrings(path: Path) -> Iterator[str]:
    """Every docstring of a file, as it stands in the source."""
    for node in ast.walk(parse_file(path)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node, clean=False)
            if text:
                yield text


@cache
def definitions() -> Counter[str]:
    """How often each tag is defined: first on a docstring line of its own, followed by two spaces."""
    return Counter(tag for path in FILES for text in docstrings(path) for tag in DEFINITION.findall(text))


def test_there_are_equations():
    found = definitions()
    assert len(found) > 30
    assert {"QP.1", "CSVM.2", "CSVM.10", "NUSVM.11", "PHINGE.2", "HARD.9", "CERT.1", "POL.1"} <= set(found)


def test_each_equation_is_defined_once():
    assert [tag for tag, count in definitions().items() if count > 1] == []


def test_each_equation_mentioned_is_defined():
    known = definitions()
    families = {tag.split(".")[0] for tag in known}
    for path in FILES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for tag in MENTION.findall(line):
                if tag.split(".")[0] in families or f"({tag})" in line:
                    assert tag in known, f"{path.relative_to(ROOT)}:{number} mentions ({tag}), which nothing defines"


def test_every_variant_derives_its_dual():
    """The page of a variant defines its primal and dual, and the code line that states each carries the tag."""
    two_classes = (("c_svm", "CSVM"), ("nu_svm", "NUSVM"), ("hard_margin", "HARD"), ("primal_hinge", "PHINGE"))
    for name, prefix in (*two_classes, ("epsilon_svr", "ESVR"), ("nu_svr", "NUSVR"), ("quantile_svr", "QSVR")):
        path = ROOT / "machines" / f"{name}.py"
        source = path.read_text(encoding="utf-8")
        assert f"({prefix}.1)" in source
        assert "Derivation" in (ast.get_docstring(parse_file(path)) or "")
        comments = "\n".join(re.findall(r"#.*", source))
        assert len(set(re.findall(rf"\({prefix}\.\d+\)", comments))) >= 2, name


# --- documentation ----------------------------------------------------------------------------------------------------


def test_every_public_name_has_a_docstring_of_its_own():
    for name in qpsvm.__all__:
        text = getattr(qpsvm, name).__doc__
        assert text, name
        assert not text.startswith(f"{name}("), f"{name} has only what dataclass wrote"
        assert text.strip().splitlines()[0].rstrip().endswith((".", ":")), name


#: A name in backquotes, with arguments or without: `solve`, `QP.scaled(…)`, `solvers.linear.solve`.
QUOTED = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\([^`]*\))?`(?!`)")
#: A name of another library that no code here mentions.
ELSEWHERE = {"ConvergenceWarning", "CalibratedClassifierCV"}


@cache
def names_in(path: Path) -> frozenset[str]:
    """Every name that the code of a file defines, takes or reads, and every string in it."""
    found = {path.stem, path.parent.name}
    for node in ast.walk(parse_file(path)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name) | ast.arg(arg=name):
                found.add(name)
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.Constant(value=str(name)):
                found.add(name)
            case ast.alias(name=name):
                found.update(name.split("."))
    return frozenset(found)


@cache
def all_names() -> frozenset[str]:
    """The names of all files, and those of the language."""
    language = {*dir(builtins), *keyword.kwlist, *dir(type), *dir(Exception())}
    return frozenset().union(*map(names_in, FILES), ELSEWHERE, language)


@cache
def homes(owner: str) -> list[Path]:
    """The files of a module, by the end of its dotted name; or the files that define a class or what it inherits."""
    found = [path for name, path in MODULES.items() if f".{name}".endswith(f".{owner}")]
    where, _, kind = owner.rpartition(".")
    files = homes(where) if where else FILES
    classes = {p: n for p in files for n in parse_file(p).body if isinstance(n, ast.ClassDef) and n.name == kind}
    bases = [base.id for each in classes.values() for base in each.bases if isinstance(base, ast.Name)]
    return found or [*classes, *(path for base in bases if base != kind for path in homes(base))]


def exists(name: str) -> bool:
    """Whether a quoted name is there: by itself, anywhere; behind a module or class of ours, in the file of that.

    Behind one small word, which may be a variable that shares its name with a module, it is looked for everywhere. What
    stands behind the name of another library is let pass.
    """
    owner, _, last = name.rpartition(".")
    if not owner or (owner.islower() and "." not in owner and homes(owner)):
        return last in all_names() or any(f".{other}".endswith(f".{name}") for other in MODULES)
    files = homes(owner)
    if not files:
        return not homes(name.partition(".")[0])
    return any(last in names_in(path) or f"{module(path)}.{last}" in MODULES for path in files)


def test_what_is_quoted_exists():
    wrong = [
        f"{path.relative_to(ROOT)}:{number} speaks of `{name}`"
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for name in QUOTED.findall(line)
        if not exists(name)
    ]
    assert wrong == []


def test_public_names_exist_once():
    assert len(set(qpsvm.__all__)) == len(qpsvm.__all__)
    assert all(hasattr(qpsvm, name) for name in qpsvm.__all__)


def test_public_methods_and_modules_have_docstrings():
    """Methods and properties of public classes; an override may leave the words to what it overrides."""
    for name in qpsvm.__all__:
        kind = getattr(qpsvm, name)
        for attribute in vars(kind) if isinstance(kind, type) else ():
            value = inspect.getattr_static(kind, attribute)
            if not attribute.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
                assert inspect.getdoc(getattr(kind, attribute)), f"{name}.{attribute}"
    for path in FILES:
        assert ast.get_docstring(parse_file(path)), path


def test_no_blanket_except_and_no_debris():
    for path in FILES:
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.ExceptHandler):
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                assert node.type is not None, where
                assert not (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")), where
        assert not re.search(r"\b(TODO|FIXME|XXX|breakpoint\(\))", source), path


def test_only_what_talks_to_a_terminal_prints():
    """All else says it to the logger, by `qpsvm.base.resources.messages`: nothing is printed that nobody asked for."""
    talk = {
        ROOT / "base" / "resources" / "messages.py",
        *(path for path in FILES if area(path) in ("faces.cli", "faces.play", "__main__")),
    }
    for path in FILES:
        for node in ast.walk(parse_file(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                assert path in talk, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_py_typed_is_there():
    assert (ROOT / "py.typed").is_file()
