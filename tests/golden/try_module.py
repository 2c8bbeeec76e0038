# try at module level.
try:
    import json
except ImportError:
    json = None
try:
    import simplejson
except ImportError as error:
    print(error)
else:
    json = simplejson
