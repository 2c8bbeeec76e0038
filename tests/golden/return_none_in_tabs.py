# A `return None` is told from `pass` by the function's own indentation.
def tabs(a):
	g(a)
	return None


def two(a):
  g(a)
  return None
