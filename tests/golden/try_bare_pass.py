# A bare except without code behind clauses with a type.
def f():
    try:
        ev(1)
    except E1:
        ev(2)
    except:
        pass
    ev(3)


def g():
    for x in y:
        try:
            ev(1)
        except E1:
            ev(2)
        except:
            pass
