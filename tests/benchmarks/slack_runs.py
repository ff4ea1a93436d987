"""A run as results/trained_slack.json has it, for tests of what is said of it."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.scripts import imported

plan = imported("_slack_plan")


def run_of(*rows: dict[str, list[Any]], seed: int = 0) -> dict[str, Any]:
    checkpoints = [{"step": 10 * index, "rows": row} for index, row in enumerate(rows)]
    about = {"what": "validation_loss", "first": 1.0, "best": 0.5}
    network_plan = {"num_layers": 1, "hidden_size": 4}
    numbers = {"epochs": 1, "updates": 20, "parameters": 9, "sequences": 4}
    task, cell = plan.TASKS[0].name, plan.CELLS[0].name
    names = {"task": task, "cell": cell, "seed": seed, "network": network_plan, "validation": about}
    names["measured_by"] = plan.MEASURED
    return {**names, **numbers, "checkpoints": checkpoints}
