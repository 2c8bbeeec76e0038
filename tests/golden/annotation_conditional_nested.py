# Marks of a class inside a class are also those of the class around it (3.14+).
class Outer:
    class Inner:
        try:
            print(1)
        except Exception:
            x: int = 1

    class Other:
        if Inner:
            y: str
        z: int
