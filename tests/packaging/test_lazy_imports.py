"""What an import must not bring along, asked of a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import loaded_after
from tests.tiers import only, slow

CHECKOUT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "sympy", "scipy", "networkx")
FOLDER = CHECKOUT / "verification" / "certify"
CERTIFY = sorted(
    ".".join(p.relative_to(FOLDER).with_suffix("").parts) for p in FOLDER.rglob("*.py") if p.stem != "__init__"
)


def heavy_after(code: str) -> list[str]:
    """The heavy packages that a fresh interpreter has loaded after running the code."""
    return loaded_after(code, HEAVY, prints=True)


@pytest.mark.parametrize(
    "code",
    [
        slow("import odernn"),
        slow("from odernn.tableaus.tableau import ButcherTableau"),
        slow("import odernn.tableaus"),
        "import odernn\nfrom odernn.tableaus.tableau import ButcherTableau\nimport odernn.tableaus",
        "import odernn.architecture",
        "from odernn.architecture import get, growth_limit, measures_of as m\nm(get('td'))\ngrowth_limit(get('td'))",
        "import cuda.odernn_kernels",
        slow("import verification"),
        slow("import verification.cli"),
        "from verification.cli import main\nassert main(['--help']) == 0\nprint()",
        "import odernn.published.networks",
        "from odernn import facts, tableaus\nfacts(tableaus.get('gauss 12'))",
        "from verification.cli import main\nassert main(['tableau', 'radau iia 5']) == 0\nprint()",
    ],
)
def test_light_imports_stay_light(code: str) -> None:
    assert heavy_after(code) == []


def test_no_certificate_needs_torch() -> None:
    assert "torch" not in heavy_after("".join(f"import verification.certify.{module}\n" for module in CERTIFY))


@pytest.mark.slow  # each alone; all together in the test above
@pytest.mark.parametrize("module", CERTIFY)
def test_a_certificate_is_checked_without_torch(module: str) -> None:
    """Not even through what it imports: the search's arithmetic takes no part in the decision."""
    assert "torch" not in heavy_after(f"import verification.certify.{module}")


def test_both_back_ends_were_tried() -> None:
    assert {"balls", "second.intervals"} <= set(CERTIFY)


@pytest.mark.parametrize("name", only(HEAVY, "networkx"))
def test_a_planted_heavy_import_is_seen(name: str) -> None:
    assert name in heavy_after(f"import odernn\nimport {name}")


@pytest.mark.slow
def test_trying_one_claim_loads_its_file_and_what_it_needs(tmp_path: Path) -> None:
    """It runs all searches of icml-C.1. benchmarks/loaded_files.py says which files, and who asked for each."""
    code = f"""
import sys
from verification.cli import main
from tests.tiers import spread
assert main(["verify", "icml-C.1", "--jobs", "0", "--budget", "smoke", "--store", {str(tmp_path / "s.sqlite")!r}]) == 0
print()
print(*(getattr(module, "__file__", "") for module in list(sys.modules.values())), sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT, timeout=600)
    assert done.returncode == 0, done.stderr
    files = {Path(line) for line in done.stdout.splitlines() if line.endswith(".py")}
    files = {file for file in files if file.is_relative_to(CHECKOUT) and "site-packages" not in file.parts}
    assert [file.name for file in files if "claims" in file.parts and file.name != "__init__.py"] == ["icml_state.py"]
    assert 50 < len(files) <= 116
    assert len([file for file in files if file.name != "__init__.py"]) <= 91
