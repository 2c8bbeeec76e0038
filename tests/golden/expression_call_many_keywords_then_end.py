# More than fifteen keywords, with a choice among them, and then nothing that branches: 3.10 has a
# copy of all that follows for each way.
def stored(p, q, g):
    d = g(
        a=p or q,
        b=1,
        c=2,
        d=3,
        e=4,
        f=5,
        g=6,
        h=7,
        i=8,
        j=9,
        k=p if q else g,
        l=11,
        m=12,
        n=13,
        o=14,
        q=15,
        r=16,
    )
    d.append(p)
    return d


def protected(p, q, g):
    with p as t:
        if t:
            return g(
                a=2,
                b=p or q or t,
                c=2,
                d=3,
                e=4,
                f=5,
                g=6,
                h=7,
                i=8,
                j=9,
                k=10,
                l=11,
                m=12,
                n=13,
                o=14,
                q=15,
                s=5,
            )
        raise g(
            a=2,
            b=p and q,
            c=2,
            d=3,
            e=4,
            f=5,
            g=6,
            h=7,
            i=8,
            j=9,
            k=10,
            l=11,
            m=12,
            n=13,
            o=14,
            q=15,
            s=5,
        )
