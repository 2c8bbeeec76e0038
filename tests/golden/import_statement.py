# import of modules and packages.
import os
import os.path
import os.path as path
import sys as system
import a.b.c
import a.b.c as d


def f():
    import json
    import xml.dom.minidom
    import xml.dom.minidom as minidom
    return json, xml, minidom
