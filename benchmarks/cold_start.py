"""What a new process pays: import, first call with an empty and a filled kernel cache, memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

_FIRST_CALL = """
import json, time
t0 = time.perf_counter()
import predyn
t1 = time.perf_counter()
import numpy as np
model = predyn.models.random_tree(6, 1)
z = np.zeros(6)
predyn.inverse_dynamics(model, z, z, z)
predyn.inverse_dynamics_derivatives(model, z, z, z)
print(json.dumps({"import": t1 - t0, "first": time.perf_counter() - t1}))
"""

_MEMORY = """
import json, resource
import numpy as np
import predyn
model = predyn.models.random_tree(30, 1)
q, v, a = np.random.default_rng(0).standard_normal((3, 4096, 30))
out = tuple(np.ones((4096, *s)) for s in ((30,), (30, 30), (30, 30), (30, 30)))
predyn.inverse_dynamics_derivatives(model, q[:8], v[:8], a[:8])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
predyn.inverse_dynamics_derivatives(model, q, v, a, out=out)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"extra": (after - before) / 1024}))
"""


def _run(code: str, folder: str) -> dict:
    env = dict(os.environ, PREDYN_CACHE_DIR=folder)
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def measure() -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        empty, filled = _run(_FIRST_CALL, folder), _run(_FIRST_CALL, folder)
        rows = [
            {"what": "import predyn, s", "value": filled["import"]},
            {"what": "tau and partials, empty cache, s", "value": empty["first"]},
            {"what": "tau and partials, filled cache, s", "value": filled["first"]},
        ]
        if sys.platform.startswith("linux"):
            extra = _run(_MEMORY, folder)["extra"]
            rows.append({"what": "peak memory beyond the outputs, MB", "value": extra})
    return rows
