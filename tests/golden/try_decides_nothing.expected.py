def decides_nothing(a):
    try:
        a()
    except ValueError:
# if >=3.10
        if a.error():
# end
# if <3.10
        if not a.error():
# end
            pass
    except:
        pass
