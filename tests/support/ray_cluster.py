"""A Ray cluster of several nodes on this machine: `python -m support.ray_cluster`, steered by lines on stdin.

It prints the address, then a line for each command done: `kill` (the newest node, without notice), `add` and `quit`.
Everything listens on loopback only, and nodes are taken for dead within two seconds.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VARIABLES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Makes Ray take 127.0.0.1 for the address of this machine.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}

SETTINGS = {
    # Ray gives way to everything else on the machine; here it is what is looked at.
    "worker_niceness": 0,
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 3,
}


def main(folder: str, n_nodes: int, cpus: int) -> None:
    os.environ.update(VARIABLES)
    # Where Ray notes which cluster is this machine's: one that somebody really has there is left alone. Ray makes that
    # folder only for a cluster that lives in it.
    os.environ["RAY_TMPDIR"] = folder
    (Path(folder) / "ray").mkdir(exist_ok=True)
    from ray.cluster_utils import Cluster

    def node(n: int) -> dict[str, Any]:
        memory = 100 * 1024 * 1024
        return {
            "num_cpus": n,
            "object_store_memory": memory,
            "include_dashboard": False,
            "node_ip_address": "127.0.0.1",
        }

    # The head holds no worker, so that any of the others can be killed.
    cluster: Any = Cluster(
        initialize_head=True, head_node_args={**node(0), "temp_dir": folder, "_system_config": SETTINGS}
    )
    nodes = [cluster.add_node(wait=False, **node(cpus)) for _ in range(n_nodes)]
    cluster.wait_for_nodes(60)
    print(f"address {cluster.address}", flush=True)
    for line in sys.stdin:
        match line.strip():
            case "kill":
                cluster.remove_node(nodes.pop(), allow_graceful=False)
            case "add":
                nodes.append(cluster.add_node(**node(cpus)))
            case _:
                break
        print(f"done {line.strip()}", flush=True)
    cluster.shutdown()


class ClusterProcess:
    """The cluster in a child process. `folder` is where Ray keeps its logs."""

    def __init__(self, child: "subprocess.Popen[str]", folder: Path) -> None:
        self._child = child
        self.folder = folder
        self.address = self._line("address")

    def kill_a_node(self) -> None:
        self._do("kill")

    def add_a_node(self) -> None:
        self._do("add")

    def _do(self, command: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(f"{command}\n")
        self._child.stdin.flush()
        self._line("done")

    def _line(self, word: str) -> str:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            first, _, rest = line.strip().partition(" ")
            if first == word:
                return rest
        raise RuntimeError("the cluster ended")


@contextmanager
def cluster_process(folder: Path, *, n_nodes: int = 2, cpus: int = 1) -> Generator[ClusterProcess]:
    """A cluster that ends with the block, or with this process however that ends."""
    command = [sys.executable, "-m", "support.ray_cluster", str(folder), str(n_nodes), str(cpus)]
    paths = [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with (
        (folder / "cluster.err").open("w") as said,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, env=env
        ) as child,
    ):
        try:
            yield ClusterProcess(child, folder)
        finally:
            assert child.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
            child.wait(timeout=60)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
