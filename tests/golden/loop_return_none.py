# One loop returns None in its middle, another leaves to the implicit return at the end.
def solve(rm, check, symmetric):
    if check:
        rm = [(r, m) for r, m in rm]
        uniq = {}
        for r, m in rm:
            r %= m
            if m in uniq:
                if r != uniq[m]:
# if >=3.10
                    return None
# end
# if <=3.9
                    return
# end
            else:
                uniq[m] = r
        rm = [(r, m) for m, r in uniq.items()]
        del uniq
        if all(isprime(m) for r, m in rm):
            r, m = list(zip(*rm))
            return crt(m, r)
    rv = (0, 1)
    for rmi in rm:
        rv = combine(rv, rmi)
# if ==3.10
        if rv is None:
            return None
        n, m = rv
        n = n % m
    if symmetric:
        return symmetric_residue(n, m), m
    return n, m
# end
# if <=3.9
        if rv is None:
            break
        n, m = rv
        n = n % m
    else:
        if symmetric:
            return symmetric_residue(n, m), m
        return n, m
# end
# if >=3.11
        if rv is None:
            break
        n, m = rv
        n = n % m
    else:
        if symmetric:
            return symmetric_residue(n, m), m
        return n, m
# end
