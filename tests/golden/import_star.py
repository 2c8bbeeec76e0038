# from … import *.
from os import *
from os.path import *
from .a import *
