"""What differs between the ranks of one job."""

from typing import List, Mapping

from depyf.difference.comparing import compare
from depyf.difference.result import Difference
from depyf.schema import Document


class RankGroups:
    """The ranks of one job, grouped by what they compiled.

    Attributes:
        groups: lists of rank numbers; ranks of one list agree. One list means that all agree.
        differences: for each list but the first, the `Difference` between its first rank and that
            of the first list.
    """

    def __init__(self, groups: List[List[int]], differences: List[Difference]) -> None:
        self.groups = groups
        self.differences = differences

    def __bool__(self) -> bool:
        return len(self.groups) > 1

    def text(self, links: bool = False, lines: int = 20) -> str:
        """What all ranks agree on, or where they part."""
        if not self:
            return "all %d ranks compiled the same graphs" % len(self.groups[0])
        out = [
            "RANKS DIFFER. A job hangs if the collectives of its ranks differ; they compiled:",
        ]
        for group, difference in zip(self.groups[1:], self.differences):
            out.append(
                "rank%s %s unlike rank%s %s:"
                % (
                    "" if len(group) == 1 else "s",
                    ", ".join(map(str, group)),
                    "" if len(self.groups[0]) == 1 else "s",
                    ", ".join(map(str, self.groups[0])),
                )
            )
            out += ["  " + line for line in difference.text(links, lines).splitlines()]
        return "\n".join(out)


def compare_ranks(documents: Mapping[int, Document]) -> RankGroups:
    """Groups ranks by what they compiled.

    Args:
        documents: rank number -> document.
    """
    groups: List[List[int]] = []
    differences: List[Difference] = []
    for rank in sorted(documents):
        found = None
        for group in groups:
            difference = compare(documents[group[0]], documents[rank], ranks=True)
            if not difference:
                group.append(rank)
                break
            found = found or difference
        else:
            if found:
                differences.append(found)
            groups.append([rank])
    return RankGroups(groups, differences)
