"""What the files beside the package promise: one version, lower bounds that are tested, a change log, how to cite."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import mutants
import pytest

import qpsvm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / ".ci"))
import contents  # noqa: E402
import tagged  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
#: Keys that the Citation File Format 1.2.0 requires, and those that this project uses besides.
REQUIRED = {"cff-version", "message", "title", "authors"}
OPTIONAL = {"type", "abstract", "keywords", "license", "repository-code", "version", "date-released"}


IN_DEVELOPMENT = ".dev" in qpsvm.__version__


#: The files at the root: another one is meant to be there, or was left there by mistake.
AT_ROOT = {
    ".gitignore", ".pre-commit-config.yaml", ".readthedocs.yaml", ".zenodo.json", "CHANGELOG.md", "CITATION.cff",
    "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "README.md", "ROADMAP.md", "SECURITY.md",
    "codemeta.json", "conftest.py", "pyproject.toml", "setup.py",
}  # fmt: skip


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_stands_in_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "qpsvm.__version__"}
    assert tagged.metadata_faults() == [], "metadata that cannot read it say the same"


def test_the_change_log_has_this_version_and_what_is_to_come():
    headings = re.findall(r"^## \[(.+?)\]( – \d{4}-\d{2}-\d{2})?$", text("CHANGELOG.md"), flags=re.MULTILINE)
    names = [name for name, _ in headings]
    assert names[0] == "Unreleased"
    assert qpsvm.__version__ in names or IN_DEVELOPMENT
    assert all(date for _, date in headings[1:]), "a version has a date"


def test_the_citation_has_the_keys_of_its_schema():
    keys = set(re.findall(r"^([a-z-]+):", text("CITATION.cff"), flags=re.MULTILINE))
    assert REQUIRED <= keys <= REQUIRED | OPTIONAL
    assert "cff-version: 1.2.0" in text("CITATION.cff")
    assert f"license: {PROJECT['project']['license']}" in text("CITATION.cff")
    assert PROJECT["project"]["urls"]["Repository"] in text("CITATION.cff")


def test_every_lower_bound_can_be_installed_as_it_stands():
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "constraints.py", *PROJECT["project"]["optional-dependencies"]],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert len(lines) == len({line.partition("==")[0] for line in lines})
    assert "numpy==1.26" in lines
    assert any(line.startswith("piqp==") for line in lines)


def test_the_workflow_runs_what_is_run_here():
    workflow = text(".github/workflows/ci.yml")
    for script in (".ci/run", ".ci/lowest"):
        assert f"run: {script}" in workflow
        assert (ROOT / script).stat().st_mode & 0o100 or sys.platform == "win32", f"{script} cannot be executed"
    told = {c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)}
    assert set(re.findall(r'"(3\.\d+)"', workflow)) == told


def test_a_tag_that_is_not_the_version_is_not_published():
    said = tagged.faults("v999.0", ["dist/qpsvm-999.0.tar.gz"])
    assert [each for each in said if "tag is v999.0" in each]
    assert [each for each in said if "qpsvm-999.0.tar.gz is not of version" in each]


def test_a_version_in_development_is_not_published():
    said = tagged.faults(f"v{qpsvm.__version__}", [])
    assert [each for each in said if "in development" in each] == said
    assert bool(said) == IN_DEVELOPMENT


def test_packages_are_built_where_they_are_published_as_they_are_here():
    workflow = text(".github/workflows/packages.yml")
    assert "run: .ci/packages" in workflow
    for name in ("none-any", "abi3"):
        assert f'python -I "$GITHUB_WORKSPACE/.ci/installed.py" {name}\n' in workflow
    assert "id-token: write" in workflow
    assert not re.search(r"password|secrets\.", workflow), "trusted publishing needs no key"
    assert ".ci/packages" in text(".ci/run")
    assert set(re.findall(r'"(3\.\d+)"', workflow)) == set(re.findall(r'"(3\.\d+)"', text(".github/workflows/ci.yml")))


def test_a_package_with_tests_or_pictures_is_refused(tmp_path):
    """Of a wheel that has too little, and too much, each fault is named."""
    wheel = tmp_path / "qpsvm-0-cp311-abi3-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        for name in ("qpsvm/__init__.py", "tests/test_all.py", "qpsvm/first.png", "qpsvm/notes.doc"):
            made.writestr(name, "")
    said = "\n".join(contents.faults(wheel, ROOT))
    for fault in ("not packed", "no part of the library", "pictures or data", "beside the library",
                  "of no kind that belongs", "its tag and its core do not agree", "the licence"):  # fmt: skip
        assert fault in said, fault


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = text("recipe/recipe.yaml")
    run = dict(re.findall(r"^    - (\S+) >=([\d.]+)$", recipe.split("  run:\n")[1], flags=re.MULTILINE))
    assert ">=" + run.pop("python") == PROJECT["project"]["requires-python"]
    assert sorted(f"{name}>={version}" for name, version in run.items()) == sorted(PROJECT["project"]["dependencies"])
    assert f'version: "{qpsvm.__version__}"' in recipe
    host = recipe.split("  host:\n")[1].split("  run:")[0]
    assert PROJECT["build-system"]["requires"] == [re.search(r"setuptools >=\d+", host).group().replace(" ", "")]


def test_metadata_for_archives_name_the_same_authors_and_licence():
    code, zenodo = json.loads(text("codemeta.json")), json.loads(text(".zenodo.json"))
    cited = re.findall(r"^  - name: (.+)$", text("CITATION.cff"), flags=re.MULTILINE)
    assert [each["name"] for each in code["author"]] == [each["name"] for each in zenodo["creators"]] == cited
    assert code["license"].endswith(PROJECT["project"]["license"])
    assert zenodo["license"] == PROJECT["project"]["license"]


def test_the_rooms_of_the_guide_are_the_rooms_of_the_library():
    table = text("CONTRIBUTING.md").split("## Architecture")[1].split("##")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    files = {path.stem for path in (ROOT / "qpsvm").glob("*.py")} - {"__init__", "__main__"}
    assert named == files | {path.parent.name for path in (ROOT / "qpsvm").glob("*/__init__.py")}


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CHANGELOG.md", "ROADMAP.md", "SECURITY.md"])
def test_paths_that_the_guides_name_exist(name):
    for path in re.findall(r"`((?:qpsvm|tests|benchmarks|docs|\.ci)/[\w./]*)`", text(name)):
        assert (ROOT / path).exists(), path


def test_every_room_that_is_a_folder_has_its_tests():
    rooms = sorted((ROOT / "qpsvm").glob("*/__init__.py"))
    folders = {str(inner.relative_to(ROOT / "qpsvm")) for room in rooms for inner in [room.parent]}
    assert {name for name in folders if not list((ROOT / "tests" / name).rglob("test_*.py"))} == set()


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="no repository of git")
def test_the_root_has_these_files_and_no_others():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert {name for name in listed.stdout.splitlines() if "/" not in name} == AT_ROOT


def test_no_two_test_files_have_one_name():
    """They are modules on one path, so that a file alone can be run and its classes pickled; fixtures are no module."""
    names = [path.name for path in (ROOT / "tests").rglob("*.py") if path.name not in ("conftest.py", "__init__.py")]
    assert len(names) == len(set(names))


@pytest.mark.slow
def test_a_package_that_is_absent_breaks_no_introspection():
    """`help`, `getmembers`, `dir` and copies of every module and name, with the packages of all extras hidden."""
    said = PROJECT["project"]
    needed, extra = (
        {re.split(r"[\[>;]", name)[0].strip().replace("-", "_") for name in names}
        for names in (
            said["dependencies"],
            [name for group in said["optional-dependencies"].values() for name in group],
        )
    )
    hidden = extra - needed | {"traitlets", "libsvm", "liblinear", "sklearnex", "pandas", "IPython"}
    assert {"anywidget", "matplotlib", "dask", "distributed", "pyarrow", "skl2onnx"} <= hidden
    code = f"""
import copy, importlib, inspect, pkgutil, pydoc, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
import qpsvm
from qpsvm import *
names = [module.name for module in pkgutil.walk_packages(qpsvm.__path__, "qpsvm.")]
for name in ["qpsvm", *(name for name in names if name != "qpsvm.__main__")]:
    module = importlib.import_module(name)
    assert pydoc.render_doc(module)
    assert {{each for each, _ in inspect.getmembers(module)}} == {{*dir(module)}}
    copies = [copy.copy(value) for value in vars(module).values() if inspect.isclass(value)]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_no_test_imports_from_a_package_called_tests():
    """Another package may ship one of that name: what tests share is found by `pythonpath`, in `tests/tools`."""
    files = [path for room in ("tests", "benchmarks") for path in (ROOT / room).rglob("*.py")]
    wrong = [path for path in files if re.search(r"^\s*(from|import) tests\b", path.read_text("utf-8"), re.MULTILINE)]
    assert wrong == []


def test_every_mutant_is_of_a_line_that_is_there():
    assert mutants.find_moved(list(range(len(mutants.MUTANTS)))) == []
