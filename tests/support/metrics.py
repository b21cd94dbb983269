"""Reads what ``/metrics`` tells."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True)
class Scrape:
    """The samples of one answer: (name, labels as sorted pairs) → value."""

    samples: dict[tuple[str, tuple[tuple[str, str], ...]], float]
    names: frozenset[str]

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples of a name that have these labels; 0 for none."""
        wanted = set(labels.items())
        return sum(value for (sample, pairs), value in self.samples.items() if sample == name and wanted <= set(pairs))

    def labels(self, label: str) -> set[str]:
        """All values of a label."""
        return {value for _, pairs in self.samples for name, value in pairs if name == label}


_SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}


def read(text: str) -> Scrape:
    """Parse an answer. ``names`` are those of samples that there can be, also of those that were never counted."""
    samples, names = {}, set[str]()
    for family in text_string_to_metric_families(text):
        names.update(f"{family.name}{suffix}" for suffix in _SUFFIXES[family.type])
        for sample in family.samples:
            samples[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return Scrape(samples, frozenset(names))
