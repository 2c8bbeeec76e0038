"""What every part of the report shares."""

#: the name of the page in a dump's folder
PAGE = "index.html"
#: what stands at the beginning of each page of ours; a file without it is not written over
MARK = '<meta name="generator" content="depyf">'


class ReportError(Exception):
    """There is nothing that a report could be made of; the message says what was found."""
