"""Documents of runs in which the seconds of this machine decide nothing."""

import re

_TIMES = re.compile(r"(compile_time|time_before_restart)(_us|_s)$|^duration_us$")


def evenly_timed(document):
    """A document in which each compile took a second, half of it before torch began again."""
    entries = [one for each in document["functions"] for one in each["entries"]]
    for entry in entries + document["unattributed"]:
        metrics, entry["backward_metrics"] = entry["metrics"], {}
        for name in [one for one in metrics if _TIMES.search(one)]:
            del metrics[name]
        metrics["dynamo_cumulative_compile_time_us"] = 1000000
        metrics["dynamo_compile_time_before_restart_us"] = 500000
    return document
