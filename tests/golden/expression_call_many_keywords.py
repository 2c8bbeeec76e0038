# More than fifteen keywords are put into a dict one by one.
def plain(flag, g):
    return g(
        k1=a1,
        k2=a2,
        k3=a3,
        k4=a4,
        k5=a5,
        k6=a6,
        k7=a7,
        k8=a8,
        k9=a9,
        k10=a10,
        k11=a11 and flag,
        k12=a12,
        k13=a13,
        k14=a14,
        k15=a15,
        k16=a16,
        k17=a17,
        k18=a18 if flag else a19,
    )
