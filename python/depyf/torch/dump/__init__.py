"""Writing a run to a folder: one file per graph, kernel and transformed code object, full_code
files, depyf.json, README.md.

`writer` writes while a block is open and when it is left, into what `folder` knows of the place.
`graphs` makes the files of graphs, `readme` README.md, which `again` makes of a dump that has none;
`told` is what the report says of the run.
"""

from depyf.torch.dump.again import write_missing_overview
from depyf.torch.dump.whole import dump_run
from depyf.torch.dump.writer import DUMP_LIMIT, DumpWriter, EarlierDump

__all__ = ["DUMP_LIMIT", "DumpWriter", "EarlierDump", "dump_run", "write_missing_overview"]
