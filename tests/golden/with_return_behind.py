def of_a_local_set_inside(c, fp):
    with c() as cur:
        a = 1
    return a, fp


def behind_a_branch(c, dim, fp):
    with c() as cur:
        a = cur.f()
        if dim != 2:
            fp['dim'] = dim
    return a + fp


def deletes_behind(self, server):
    client = connect(server)
    with self.timeout():
        found = client.read()
        client.close()
    del client
    del found
