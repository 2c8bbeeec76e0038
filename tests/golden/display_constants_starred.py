# Displays that begin with constants and go on.
S = {'a', 'b', 'c', *U, *V}
L = [1, 2, 3, *U, 4]
