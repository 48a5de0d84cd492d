from .models import *
from . import tools

CONSTANT = 3
