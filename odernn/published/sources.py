"""Where something was copied from, and what the keys stand for: the papers whose claims are on trial."""

from __future__ import annotations

from dataclasses import dataclass

PAPERS: dict[str, str] = {
    "icml": "T. K. Rusch, S. Mishra: UnICORNN: A recurrent model for learning very long time dependencies. ICML 2021; "
    "S(n) is equation (n) of its supplement",
    "sam": "T. K. Rusch, S. Mishra: UnICORNN: A recurrent model for learning very long time dependencies. "
    "SAM Research Report 2021-10, ETH Zürich",
    "scornn": "K. Helfrich, D. Willmott, Q. Ye: Orthogonal RNNs with scaled Cayley transform. 2018",
    "complexity": "S. Zhang et al.: Architectural complexity measures of recurrent neural networks. 2016",
    "odernn": "M. Y. Niu, I. L. Chuang, L. Horesh: RNNs in the eye of differential equations. 2019",
    "library": "this library; the place is a file of its repository",
}


@dataclass(frozen=True)
class Source:
    """Where an entry was copied from: a bibliography key and the place in it."""

    key: str
    where: str

    def __str__(self) -> str:
        return f"{self.key}, {self.where}" if self.where else self.key
