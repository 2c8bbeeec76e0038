"""What the page of a dump costs: processor time beside the time that torch compiled, bytes beside
the texts in it. The table of docs/cost.md.

Usage: python bench/report.py DUMP...   (folders that prepare_debug or `depyf run` wrote)
"""

import os
import sys
import tempfile
import time

from depyf import dumped, report
from depyf.report import page


def main():
    """Prints one row for each dump."""
    page.load()
    print(
        "| dump | compiles | seconds compiling | report, ms | of it | texts, KiB | page, KiB | times |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for folder in sys.argv[1:]:
        document = dumped.load(folder)
        entries = [
            entry for function in document["functions"] for entry in function["entries"]
        ] + document["unattributed"]
        compiling = (
            sum(
                entry.get(key, {}).get("duration_us", 0)
                for entry in entries
                for key in ("metrics", "backward_metrics")
            )
            / 1e6
        )
        texts = os.path.getsize(os.path.join(folder, "depyf.json"))
        texts += sum(
            os.path.getsize(os.path.join(folder, one["path"]))
            for entry in entries
            for one in entry["artifacts"]
            if one["path"]
        )
        with tempfile.TemporaryDirectory() as place:
            times = []
            for _ in range(5):
                begin = time.process_time()
                path = report.build(folder, os.path.join(place, "page.html"))
                times.append(time.process_time() - begin)
            size = os.path.getsize(path)
        took = sorted(times)[2]
        name = os.path.basename(os.path.abspath(folder))
        row = (
            name,
            len(entries),
            compiling,
            took * 1000,
            100 * took / compiling,
            texts / 1024,
            size / 1024,
            size / texts,
        )
        print("| %s | %d | %.1f | %.0f | %.2f %% | %.0f | %.0f | %.2f |" % row)


if __name__ == "__main__":
    main()
