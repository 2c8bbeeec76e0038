# A chained comparison whose value nobody takes.
def g(G):
    n.a(G, 2) == n.d(G, 2) == {0, 1, 3, 4}


def h(s):
    assert s.a(1) == s.b(2) == 'c'
