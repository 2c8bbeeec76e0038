"""`depyf try`: a program is run as it is, then again with each change of the advice that has a
patch, and what each did is told from the runs. No file of the program is changed.
"""
