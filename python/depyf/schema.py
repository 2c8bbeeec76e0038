"""What the writer and the readers of a dump agree on; docs/run_schema.md describes the document. Runs on Python 3.7, without torch."""

#: the file of a dump that holds the document
MANIFEST = "depyf.json"
SCHEMA = "depyf.run"
SCHEMA_VERSION = 1

#: the stages of one graph in the order in which torch makes them; stages not named here follow in order of arrival
STAGES = (
    "Captured_Graph",
    "BEFORE_PRE_GRAD",
    "AFTER_PRE_GRAD",
    "Joint_graph",
    "Forward_graph",
    "Backward_graph",
    "BEFORE_JOINT",
    "AFTER_JOINT",
    "BEFORE_POST_GRAD",
    "AFTER_POST_GRAD",
    "kernel",
)
